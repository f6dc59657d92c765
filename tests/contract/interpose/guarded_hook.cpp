#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "tests/contract/hooks/allocating_sink.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::testing::AllocatingProbe);

const alloctap::testing::GuardedHook alloctap::testing::guarded_hook =
    guarded_hook_of<InterposeHook>();
