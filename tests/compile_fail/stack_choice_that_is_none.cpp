// EXPECT: StackCapture
#include <alloctap/stack/selectable_stack.hpp>
#include <alloctap/stack/stack_capture.hpp>

struct Stack : alloctap::StackCaptureArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static void capture(alloctap::ThreadState&, const alloctap::CallOrigin&,
                      std::span<std::uintptr_t>) noexcept {}
#endif
};

int main() { return alloctap::SelectableStack<alloctap::NoStack, Stack>::select("mine") ? 1 : 0; }
