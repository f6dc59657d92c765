// EXPECT: Config::Hook does not model HookBackend: see alloctap/hook/hook_backend.hpp
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct Hook : alloctap::HookBackendArchetype {
  static void uninstall() {}
};
#else
using Hook = alloctap::HookBackendArchetype;
#endif

struct Config : alloctap::DefaultConfig {
  using Hook = ::Hook;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
