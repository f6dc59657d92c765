// EXPECT: Observer: the feature add_to and the member add_to go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::NoObservers {
  static constexpr alloctap::ObserverFeatures features{.add_to = true};
#ifdef ALLOCTAP_COMPILE_FAIL
  static bool add_too(alloctap::Snapshot&) noexcept { return true; }
#else
  static bool add_to(alloctap::Snapshot&) noexcept { return true; }
#endif
};

struct Config : alloctap::DefaultConfig {
  using Observers = Mine;
};

int main() { return alloctap::Tracker<Config>::snapshot().ok() ? 1 : 0; }
