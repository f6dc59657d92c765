#include <doctest/doctest.h>

#include <cstdint>

#include "alloctap/hook/windows/checked_blocks.hpp"

using alloctap::NoSerializeHeaps;

namespace {

HANDLE heap_number(std::uintptr_t number) { return reinterpret_cast<HANDLE>(number << 16); }

}  // namespace

TEST_CASE("heaps without a lock are known until they go") {
  static constinit NoSerializeHeaps heaps;
  CHECK_FALSE(heaps.has(heap_number(1)));
  heaps.add(heap_number(1));
  heaps.add(heap_number(2));
  CHECK(heaps.has(heap_number(1)));
  CHECK(heaps.has(heap_number(2)));
  CHECK_FALSE(heaps.has(heap_number(3)));
  heaps.remove(heap_number(3));
  heaps.remove(heap_number(1));
  CHECK_FALSE(heaps.has(heap_number(1)));
  CHECK(heaps.has(heap_number(2)));
}

TEST_CASE("where there are more heaps without a lock than are kept, any may be one") {
  static constinit NoSerializeHeaps heaps;
  for (std::uintptr_t i = 1; i <= 64; ++i) heaps.add(heap_number(i));
  CHECK_FALSE(heaps.has(heap_number(100)));
  heaps.add(heap_number(65));
  CHECK(heaps.has(heap_number(100)));
}
