#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/runtime/arena.hpp"

namespace {

using alloctap::Arena;
using alloctap::SpacedShadowIndex;

void* spaced_block(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

/// What the arena maps for 16 MiB of blocks that begin so far apart.
std::size_t bytes_with(std::size_t told, std::size_t told_later) {
  const auto index = std::make_unique<SpacedShadowIndex>();
  if (told != 0) index->set_min_block_spacing(told);
  const std::size_t before = Arena::mapped_bytes();
  constexpr std::uintptr_t kBegin = std::uintptr_t{1} << 40;
  CHECK(index->insert(spaced_block(kBegin), {.stack = 1, .size = 10}).kept);
  if (told_later != 0) index->set_min_block_spacing(told_later);
  std::size_t blocks = 0;
  for (std::uintptr_t at = kBegin + 48; at < kBegin + (std::uintptr_t{16} << 20); at += 48) {
    CHECK(index->insert(spaced_block(at), {.stack = 1, .size = 10}).kept);
  }
  index->for_each([&](const void*, const alloctap::BlockRecord&) { ++blocks; });
  CHECK(blocks == ((std::size_t{16} << 20) + 47) / 48);
  CHECK(index->take(spaced_block(kBegin)).size == 10);
  return Arena::mapped_bytes() - before;
}

}  // namespace

TEST_CASE("an index that was told of 32 bytes takes half the memory, the first time alone") {
  const std::size_t wide = bytes_with(32, 0);
  const std::size_t narrow = bytes_with(16, 0);
  CHECK(narrow > wide * 3 / 2);
  CHECK(bytes_with(0, 0) == narrow);
  CHECK(bytes_with(16, 32) == narrow);
  CHECK(bytes_with(32, 16) == wide);
}
