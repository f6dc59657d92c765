// EXPECT: Config::Observers does not model Observer: see alloctap/observe/observer.hpp
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::NoObservers {
#ifdef ALLOCTAP_COMPILE_FAIL
  static void on_untrack(const alloctap::ObservedBlock&) {}
#endif
};

struct Config : alloctap::DefaultConfig {
  using Observers = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
