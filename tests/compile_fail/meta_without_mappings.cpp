// EXPECT: Config::Meta does not model MetaContainer: see alloctap/meta/meta_container.hpp
#include <alloctap/impl/tracker.hpp>

struct Meta : alloctap::MetaContainerArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  void mappings() noexcept {}
#endif
};

struct Config : alloctap::DefaultConfig {
  using Meta = ::Meta;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
