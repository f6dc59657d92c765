// EXPECT: Config::Symbolizer does not model Symbolizer: see alloctap/symbol/symbolizer.hpp
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct Symbolizer {
  static constexpr std::string_view name = "mine";
  static bool symbolize(std::span<const alloctap::CodeAddress>, alloctap::Symbols&) noexcept {
    return false;
  }
};
#else
using Symbolizer = alloctap::SymbolizerArchetype;
#endif

struct Config : alloctap::DefaultConfig {
  using Symbolizer = ::Symbolizer;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
