// EXPECT: Index: the feature age_ns and the member age_ns go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::ShadowIndex {
#ifdef ALLOCTAP_COMPILE_FAIL
  std::int64_t age_ns(const void*) noexcept { return 0; }
#endif
};

struct Config : alloctap::DefaultConfig {
  using Meta = alloctap::MemoryMetaContainer<Mine>;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
