// EXPECT: Config::Hook does not model HookBackend: see alloctap/hook/hook_backend.hpp
#include <alloctap/impl/tracker.hpp>

#include "alloctap/status.hpp"

#ifdef ALLOCTAP_COMPILE_FAIL
struct Hook {
  static constexpr std::string_view name = "mine";
  template <alloctap::EventSink Sink>
  static alloctap::Status install() {
    return alloctap::Status();
  }
  static void uninstall() noexcept {}
};
#else
using Hook = alloctap::HookBackendArchetype;
#endif

struct Config : alloctap::DefaultConfig {
  using Hook = ::Hook;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
