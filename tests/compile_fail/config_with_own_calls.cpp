// EXPECT: Config::is_own_call is named is_internal_call now
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  static bool is_own_call(const alloctap::CallOrigin&) noexcept { return false; }
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
