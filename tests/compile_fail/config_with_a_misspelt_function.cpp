// EXPECT: Config: the feature on_misuse and the member on_misuse go together
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
  static constexpr alloctap::ConfigFeatures features{.on_misuse = true};
#ifdef ALLOCTAP_COMPILE_FAIL
  static void on_missuse(const alloctap::Misuse&) noexcept {}
#else
  static void on_misuse(const alloctap::Misuse&) noexcept {}
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
