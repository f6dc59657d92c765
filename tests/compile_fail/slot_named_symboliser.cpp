// EXPECT: Config::Symboliser is not a slot; it is called Config::Symbolizer
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Symboliser = alloctap::NoSymbolizer;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
