// The bodies of AdjustableSampling.
#include "alloctap/sample/impl/adjustable_sampling.hpp"
