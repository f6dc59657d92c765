// EXPECT: Config::Stack does not model StackCapture: see alloctap/stack/stack_capture.hpp
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct Stack {
  static constexpr std::string_view name = "mine";
  static alloctap::CapturedStack capture(alloctap::ThreadState&, const alloctap::CallOrigin&,
                                         std::span<std::uintptr_t>) {
    return {};
  }
};
#else
using Stack = alloctap::StackCaptureArchetype;
#endif

struct Config : alloctap::DefaultConfig {
  using Stack = ::Stack;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
