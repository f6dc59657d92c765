// EXPECT: Config::Symbolizer does not model Symbolizer: see alloctap/symbol/symbolizer.hpp
#include <alloctap/impl/tracker.hpp>

struct Symbolizer : alloctap::SymbolizerArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static void symbolize(std::span<const alloctap::CodeAddress>, alloctap::Symbols&) {}
#endif
};

struct Config : alloctap::DefaultConfig {
  using Symbolizer = ::Symbolizer;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
