// EXPECT: Config::Checks has GuardPages, and Config::Hook cannot hand out memory
#include <alloctap/check/checks.hpp>
#include <alloctap/hook/hook_backend.hpp>
#include <alloctap/impl/tracker.hpp>

struct HalfHook : alloctap::HookBackendArchetype {
  static constexpr alloctap::HookCapabilities capabilities{.owns_every_free = true,
                                                           .checks_blocks = true};
};

struct Config : alloctap::DefaultConfig {
  using Hook = HalfHook;
#ifdef ALLOCTAP_COMPILE_FAIL
  using Checks = alloctap::Checks<alloctap::GuardPages<>>;
#else
  using Checks = alloctap::Checks<alloctap::Expand<>>;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
