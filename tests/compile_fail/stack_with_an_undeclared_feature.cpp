// EXPECT: Stack: the feature forget_unloaded_modules and the member forget_unloaded_modules go
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::StackCaptureArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static void forget_unloaded_modules() noexcept {}
#else
  static void forget() noexcept {}
#endif
};

struct Config : alloctap::DefaultConfig {
  using Stack = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
