#include <doctest/doctest.h>
#include <linux/mman.h>
#include <sys/mman.h>

#include <cstddef>
#include <initializer_list>

#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace {

namespace os = alloctap::os;

std::size_t one_page() { return os::page_size(); }

bool is_still_mapped(void* address) { return msync(address, one_page(), MS_ASYNC) == 0; }

}  // namespace

TEST_CASE("only the failure value of a mapping call is a failure") {
  CHECK(os::mapping_failed(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  CHECK_FALSE(os::mapping_failed(nullptr));
  const int object = 0;
  CHECK_FALSE(os::mapping_failed(&object));
}

TEST_CASE("a remapping is said to keep the old pages exactly when it does") {
  for (const int flags : {MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP}) {
    CAPTURE(flags);
    void* old = mmap(nullptr, one_page(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* target = mmap(nullptr, one_page(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mremap(old, one_page(), one_page(), flags | MREMAP_FIXED, target) == target);
    CHECK(os::remap_keeps_old(one_page(), flags) == is_still_mapped(old));
    munmap(target, one_page());
    munmap(old, one_page());
  }
}

TEST_CASE("a remapping of nothing keeps the old pages") {
  void* old = mmap(nullptr, one_page(), PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* copy = mremap(old, 0, one_page(), MREMAP_MAYMOVE);
  REQUIRE_FALSE(os::mapping_failed(copy));
  CHECK(is_still_mapped(old));
  CHECK(os::remap_keeps_old(0, MREMAP_MAYMOVE));
  munmap(copy, one_page());
  munmap(old, one_page());
}
