// EXPECT: Config::Meta does not model MetaContainer: see alloctap/meta/meta_container.hpp
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct Meta : alloctap::MetaContainerArchetype {
  alloctap::BlockRecord take(const void*) { return {}; }
};
#else
using Meta = alloctap::MetaContainerArchetype;
#endif

struct Config : alloctap::DefaultConfig {
  using Meta = ::Meta;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
