#include "alloctap/hook/malloc_hooks.hpp"
#include "tests/contract/hooks/allocating_sink.hpp"

const alloctap::testing::GuardedHook alloctap::testing::guarded_hook =
    guarded_hook_of<MallocHooks>();
