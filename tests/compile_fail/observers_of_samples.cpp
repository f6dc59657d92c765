// EXPECT: Config::Observers are told of every block, which Config::Sampling leaves out
#include <alloctap/impl/tracker.hpp>
#include <alloctap/sample/poisson_by_bytes.hpp>

struct Mine : alloctap::NoObservers {};

struct Config : alloctap::DefaultConfig {
  using Observers = Mine;
#ifdef ALLOCTAP_COMPILE_FAIL
  using Sampling = alloctap::PoissonByBytes<4096>;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
