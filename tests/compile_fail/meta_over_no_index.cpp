// EXPECT: PointerIndex
#include <alloctap/meta/meta_container.hpp>

struct Index : alloctap::PointerIndexArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  alloctap::BlockRecord take(const void*) { return {}; }  // It may run inside malloc: noexcept.
#endif
};

int main() {
  alloctap::MemoryMetaContainer<Index> meta;
  return static_cast<int>(meta.take(nullptr).size);
}
