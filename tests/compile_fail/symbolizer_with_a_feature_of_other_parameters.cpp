// EXPECT: Symbolizer: the feature note and the member note go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::SymbolizerArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static constexpr alloctap::SymbolizerFeatures features{.note = true};
  static std::string_view note(int) noexcept { return {}; }
#else
  static constexpr alloctap::SymbolizerFeatures features{.note = true};
  static std::string_view note() noexcept { return {}; }
#endif
};

struct Config : alloctap::DefaultConfig {
  using Symbolizer = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
