// WindowsHeapHook under the cases of backends on Windows.
#include "alloctap/hook/windows_heap_hook.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

namespace alloctap::testing {
namespace {

struct HeapConfig : DefaultConfig {
  using Hook = WindowsHeapHook;
  using Stack = NoStack;
};

Sees expected() { return {}; }

}  // namespace

const HookedProgram hooked_program = hooked_program_of<Tracker<HeapConfig>>(&expected);

}  // namespace alloctap::testing
