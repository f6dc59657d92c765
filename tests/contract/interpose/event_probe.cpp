#include "event_probe.hpp"

#include "alloctap/hook/interposed_malloc.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::testing::Probe);
