#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/runtime/arena.hpp"

namespace {

using alloctap::Arena;
using alloctap::ArenaRegions;

constexpr std::uintptr_t kNowhere = 0x10'0000;

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(kNowhere + address); }

/// Below where anything is mapped.
std::string made_up_regions() {
  std::string text;
  ArenaRegions::for_each([&](const ArenaRegions::Region& region) {
    if (region.start >= kNowhere + 0x1000) return;
    text +=
        std::to_string(region.start - kNowhere) + '-' + std::to_string(region.end - kNowhere) + ' ';
  });
  return text;
}

bool holds(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool found = false;
  ArenaRegions::for_each([&](const ArenaRegions::Region& region) {
    found = found || (region.start <= wanted && wanted < region.end);
  });
  return found;
}

}  // namespace

TEST_CASE("ranges of the arena that touch are one, and parts of them may go") {
  ArenaRegions::add(at(100), 100);
  ArenaRegions::add(at(300), 100);
  CHECK(made_up_regions() == "100-200 300-400 ");
  ArenaRegions::add(at(200), 100);
  CHECK(made_up_regions() == "100-400 ");
  ArenaRegions::add(at(0), 100);
  ArenaRegions::add(at(400), 100);
  CHECK(made_up_regions() == "0-500 ");
  ArenaRegions::remove(at(200), 50);
  CHECK(made_up_regions() == "0-200 250-500 ");
  ArenaRegions::remove(at(450), 50);
  ArenaRegions::remove(at(0), 10);
  CHECK(made_up_regions() == "10-200 250-450 ");
  ArenaRegions::remove(at(100), 200);
  CHECK(made_up_regions() == "10-100 300-450 ");
  ArenaRegions::remove(at(10), 90);
  ArenaRegions::remove(at(300), 150);
  CHECK(made_up_regions() == "");
  CHECK(ArenaRegions::complete());
}

TEST_CASE("the arena says where its memory is, for as long as it holds it") {
  void* small = Arena::allocate(64);
  void* large = Arena::allocate(1 << 20);
  void* aligned = Arena::allocate_aligned_pages(1 << 20, 1 << 22);
  CHECK(holds(small));
  CHECK(holds(large));
  CHECK(holds(aligned));
  CHECK(holds(static_cast<char*>(aligned) + (1 << 20) - 1));
  CHECK_FALSE(holds(&small));
  Arena::deallocate(large, 1 << 20);
  Arena::deallocate_pages(aligned, 1 << 20);
  CHECK_FALSE(holds(aligned));
  Arena::deallocate(small, 64);
  CHECK(holds(small));
}

TEST_CASE("who looks at the arena's ranges may use it") {
  ArenaRegions::add(at(100), 100);
  ArenaRegions::add(at(300), 100);
  std::vector<void*> taken;
  std::size_t visited = 0;
  ArenaRegions::for_each([&](const ArenaRegions::Region& region) {
    if (region.start > kNowhere + 0x1000) return;
    ++visited;
    taken.push_back(Arena::allocate_pages(Arena::kHugePage));
  });
  CHECK(visited == 2);
  for (void* const pages : taken) {
    REQUIRE(pages != nullptr);
    CHECK(holds(pages));
    Arena::deallocate_pages(pages, Arena::kHugePage);
  }
  ArenaRegions::remove(at(100), 300);
  CHECK(made_up_regions() == "");
}
