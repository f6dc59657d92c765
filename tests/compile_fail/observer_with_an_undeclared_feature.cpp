// EXPECT: Observer: the feature on_reallocate and the member on_reallocate go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::NoObservers {
#ifndef ALLOCTAP_COMPILE_FAIL
  static constexpr alloctap::ObserverFeatures features{.on_reallocate = true};
#endif
  static void on_reallocate(const alloctap::ObservedBlock&,
                            const alloctap::ObservedBlock&) noexcept {}
};

struct Config : alloctap::DefaultConfig {
  using Observers = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
