// EXPECT: Config::Tags does not model TagPolicy: see alloctap/tag/tag_policy.hpp
#include <alloctap/impl/tracker.hpp>

struct Tags : alloctap::TagPolicyArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static std::uint32_t current(const alloctap::ThreadState&) noexcept { return 0; }
#endif
};

struct Config : alloctap::DefaultConfig {
  using Tags = ::Tags;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
