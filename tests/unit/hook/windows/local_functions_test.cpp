#include "alloctap/hook/windows/local_functions.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace {

using namespace alloctap;

HLOCAL handle_at(std::uintptr_t address) { return reinterpret_cast<HLOCAL>(address); }

}  // namespace

TEST_CASE("fixed memory moves only where a reallocation may, and is zeroed where it is to be") {
  CHECK(LocalFlagsOf{LMEM_FIXED}.to_allocate() == 0);
  CHECK(LocalFlagsOf{LPTR}.to_allocate() == HEAP_ZERO_MEMORY);
  CHECK(LocalFlagsOf{0}.to_reallocate() == HEAP_REALLOC_IN_PLACE_ONLY);
  CHECK(LocalFlagsOf{GMEM_MOVEABLE}.to_reallocate() == 0);
  CHECK(LocalFlagsOf{GHND}.to_reallocate() == HEAP_ZERO_MEMORY);
}

TEST_CASE("flags of both families say the same") {
  for (const UINT flags : {UINT{LMEM_MOVEABLE}, UINT{GMEM_MOVEABLE}}) {
    CHECK(LocalFlagsOf{flags}.is_movable());
    CHECK_FALSE(LocalFlagsOf{flags}.modifies());
  }
  for (const UINT flags : {UINT{LMEM_MODIFY}, UINT{GMEM_MODIFY}}) {
    CHECK(LocalFlagsOf{flags}.modifies());
    CHECK_FALSE(LocalFlagsOf{flags}.is_discardable());
  }
  CHECK(LocalFlagsOf{LMEM_DISCARDABLE}.is_discardable());
  CHECK(LocalFlagsOf{GMEM_DISCARDABLE}.is_discardable());
  CHECK_FALSE(LocalFlagsOf{LPTR}.is_discardable());
}

TEST_CASE("what begins where blocks of heaps do is no handle of memory that may move") {
  CHECK_FALSE(is_like_movable(nullptr));
  CHECK_FALSE(is_like_movable(handle_at(0x340e80)));
  CHECK(is_like_movable(handle_at(0x830008)));
  CHECK(is_like_movable(handle_at(0x830018)));
}

TEST_CASE("memory of GlobalAlloc has a byte at least") {
  CHECK(kernel::GlobalAlloc::size(0) == 1);
  CHECK(kernel::GlobalAlloc::size(5) == 5);
  CHECK(kernel::LocalAlloc::size(0) == 0);
}
