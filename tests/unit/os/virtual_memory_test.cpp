#include "alloctap/os/virtual_memory.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

namespace {

namespace os = alloctap::os;

/// Whether the system follows MADV_POPULATE_WRITE, of Linux 5.14 and later; an emulator may take
/// it and do nothing.
bool knows_populating() {
  void* const page = os::map_pages(os::page_size());
  unsigned char there = 0;
  const bool taken = madvise(page, os::page_size(), 23) == 0;
  const bool told = mincore(page, os::page_size(), &there) == 0;
  os::unmap_pages(page, os::page_size());
  return taken && told && there == 1;
}

bool is_mapped(void* page) { return msync(page, os::page_size(), MS_ASYNC) == 0; }

}  // namespace

TEST_CASE("the page size is the system's") {
  CHECK(os::page_size() == static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

TEST_CASE("pages come zeroed and writable and go when they are given back") {
  const std::size_t bytes = 3 * os::page_size();
  auto* memory = static_cast<char*>(os::map_pages(bytes));
  REQUIRE(memory != nullptr);
  const std::span<char> pages(memory, bytes);
  CHECK(std::all_of(pages.begin(), pages.end(), [](char c) { return c == 0; }));
  std::fill(pages.begin(), pages.end(), 'x');
  os::unmap_pages(memory + os::page_size(), os::page_size());
  CHECK(is_mapped(memory));
  CHECK_FALSE(is_mapped(memory + os::page_size()));
  CHECK(is_mapped(memory + 2 * os::page_size()));
  os::unmap_pages(memory, bytes);
  CHECK_FALSE(is_mapped(memory));
}

TEST_CASE("pages that the system does not have are refused") {
  CHECK(os::map_pages(SIZE_MAX - os::page_size() + 1) == nullptr);
}

TEST_CASE("pages that were brought in are there before they are touched, and zero") {
  constexpr std::size_t kCount = 64;
  const std::size_t bytes = kCount * os::page_size();
  auto* const memory = static_cast<char*>(os::map_pages(bytes));
  REQUIRE(memory != nullptr);
  os::bring_in_pages(memory, bytes / 2);
  std::array<unsigned char, kCount> there{};
  REQUIRE(mincore(memory, bytes, there.data()) == 0);
  const auto brought_in = std::count(there.begin(), there.end(), 1);
  CHECK(brought_in == (knows_populating() ? kCount / 2 : 0));
  CHECK(std::all_of(memory, memory + bytes, [](char c) { return c == 0; }));
  os::unmap_pages(memory, bytes);
}

TEST_CASE("what the system refuses does not change errno") {
  void* const page = os::map_pages(os::page_size());
  REQUIRE(page != nullptr);
  const auto address = reinterpret_cast<std::uintptr_t>(page);
  const auto inside = static_cast<void*>(static_cast<char*>(page) + 1);
  errno = EXDEV;
  CHECK(os::map_pages(SIZE_MAX - os::page_size() + 1) == nullptr);
  CHECK_FALSE(os::map_pages_at(address, os::page_size()));
  os::unmap_pages(inside, os::page_size());
  os::use_huge_pages(inside, os::page_size(), true);
  os::bring_in_pages(inside, os::page_size());
  CHECK(errno == EXDEV);
  os::unmap_pages(page, os::page_size());
}
