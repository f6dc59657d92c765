// EXPECT: Config::Checks has a check that remembers blocks, and Config::Hook does not
#include <alloctap/check/checks.hpp>
#include <alloctap/hook/hook_backend.hpp>
#include <alloctap/impl/tracker.hpp>

struct HalfHook : alloctap::HookBackendArchetype {
  static constexpr alloctap::HookCapabilities capabilities{.checks_blocks = true};
};

struct Config : alloctap::DefaultConfig {
  using Hook = HalfHook;
#ifdef ALLOCTAP_COMPILE_FAIL
  using Checks = alloctap::Checks<alloctap::RearGuard<>>;
#else
  using Checks = alloctap::Checks<alloctap::Expand<>>;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
