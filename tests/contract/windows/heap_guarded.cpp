// WindowsHeapHook with a sink that allocates.
#include "alloctap/hook/windows_heap_hook.hpp"
#include "tests/contract/windows/allocating_sink.hpp"

const alloctap::testing::GuardedHook alloctap::testing::guarded_hook =
    guarded_hook_of<WindowsHeapHook>();
