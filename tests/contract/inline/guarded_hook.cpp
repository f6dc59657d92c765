#include "alloctap/hook/inline_hook.hpp"
#include "tests/contract/hooks/allocating_sink.hpp"

const alloctap::testing::GuardedHook alloctap::testing::guarded_hook =
    guarded_hook_of<InlineHook>();
