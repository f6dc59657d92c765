#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"
#include "tests/support/address_of.hpp"

namespace {

using alloctap::CodeRegions;
using alloctap::testing::address_of;

int function() { return 0; }

}  // namespace

TEST_CASE("functions are code, and what else is mapped, or is not, is none") {
  CodeRegions regions{};
  const int local = function();
  const auto heap = std::make_unique<int>();
  for (int i = 0; i < 3; ++i) {
    CHECK(regions.contains(reinterpret_cast<std::uintptr_t>(&function)));
    CHECK_FALSE(regions.contains(address_of(&local)));
    CHECK_FALSE(regions.contains(address_of(heap.get())));
    CHECK_FALSE(regions.contains(0));
    CHECK_FALSE(regions.contains(UINTPTR_MAX));
  }
}

TEST_CASE("memory that becomes code is code before long") {
  CodeRegions regions{};
  const std::size_t bytes = alloctap::os::page_size();
  void* const pages = alloctap::os::map_pages(bytes);
  const std::uintptr_t address = address_of(pages);
  CHECK_FALSE(regions.contains(address));
  REQUIRE(alloctap::os::protect_pages(address, bytes, {.readable = true, .executable = true}));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!regions.contains(address) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  CHECK(regions.contains(address));
  alloctap::os::unmap_pages(pages, bytes);
}
