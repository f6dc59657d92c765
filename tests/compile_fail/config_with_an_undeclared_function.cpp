// EXPECT: Config: the feature is_internal_call and the member is_internal_call go together
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifndef ALLOCTAP_COMPILE_FAIL
  static constexpr alloctap::ConfigFeatures features{.is_internal_call = true};
#endif
  static bool is_internal_call(const alloctap::CallOrigin&) noexcept { return false; }
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
