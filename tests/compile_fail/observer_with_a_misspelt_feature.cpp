// EXPECT: Observer: the feature on_map and the member on_map go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::NoObservers {
  static constexpr alloctap::ObserverFeatures features{.on_map = true};
#ifdef ALLOCTAP_COMPILE_FAIL
  static void on_mapp(const alloctap::ObservedMapping&) noexcept {}
#else
  static void on_map(const alloctap::ObservedMapping&) noexcept {}
#endif
};

struct Config : alloctap::DefaultConfig {
  using Observers = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
