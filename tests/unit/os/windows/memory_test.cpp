#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/macros.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"
#include "tests/support/address_of.hpp"

namespace {

using alloctap::testing::address_of;

namespace os = alloctap::os;

constexpr std::size_t kOnePage = 4096;

DWORD state_of(const void* page) {
  MEMORY_BASIC_INFORMATION region;
  REQUIRE(::VirtualQuery(page, &region, sizeof region) != 0);
  return region.State;
}

ALLOCTAP_NOINLINE std::uintptr_t address_on_this_stack() {
  return address_of(ALLOCTAP_FRAME_ADDRESS());
}

struct Region {
  os::MemoryRegion region;
  std::string path;
};

Region region_at(const void* place) {
  std::vector<char> buffer(os::kMemoryMapLine);
  Region found;
  os::visit_memory_map(buffer, [&](const os::MemoryRegion& region) {
    if (address_of(place) >= region.end) return true;
    if (address_of(place) >= region.start) found = {region, std::string(region.path)};
    return false;
  });
  return found;
}

}  // namespace

TEST_CASE("what the system refuses does not change the last error") {
  void* const page = os::map_pages(kOnePage);
  REQUIRE(page != nullptr);
  const std::atomic<std::uint32_t> word{7};
  ::SetLastError(ERROR_NOT_SAME_DEVICE);
  CHECK(os::map_pages(SIZE_MAX - kOnePage + 1) == nullptr);
  CHECK_FALSE(os::map_pages_at(address_of(page), kOnePage));
  os::futex_wait(word, 7, 1'000'000);
  CHECK(::GetLastError() == ERROR_NOT_SAME_DEVICE);
  os::unmap_pages(page, kOnePage);
}

TEST_CASE("the page size is Windows' own") {
  SYSTEM_INFO info;
  ::GetSystemInfo(&info);
  CHECK(os::page_size() == info.dwPageSize);
}

TEST_CASE("pages of Windows come zeroed, and a part that is given back is gone at once") {
  auto* memory = static_cast<char*>(os::map_pages(3 * kOnePage));
  REQUIRE(memory != nullptr);
  const std::span<char> pages(memory, 3 * kOnePage);
  CHECK(std::all_of(pages.begin(), pages.end(), [](char c) { return c == 0; }));
  std::fill(pages.begin(), pages.end(), 'x');
  os::unmap_pages(memory + kOnePage, kOnePage);
  CHECK(state_of(memory) == MEM_COMMIT);
  CHECK(state_of(memory + kOnePage) != MEM_COMMIT);
  CHECK(state_of(memory + 2 * kOnePage) == MEM_COMMIT);
}

TEST_CASE("the last part that is given back frees the addresses, in any order") {
  for (const bool forward : {true, false}) {
    auto* memory = static_cast<char*>(os::map_pages(40 * kOnePage));
    REQUIRE(memory != nullptr);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(state_of(memory) != MEM_FREE);
      os::unmap_pages(memory + (forward ? i : 3 - i) * 10 * kOnePage, 10 * kOnePage);
    }
    CHECK(state_of(memory) == MEM_FREE);
    CHECK(state_of(memory + 39 * kOnePage) == MEM_FREE);
  }
}

TEST_CASE("giving back spans neighbouring mappings and what is gone already") {
  auto* memory = static_cast<char*>(os::map_pages(48 * kOnePage));
  REQUIRE(memory != nullptr);
  os::unmap_pages(memory, 48 * kOnePage);
  // 64 KiB each, side by side.
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(os::map_pages_at(address_of(memory) + i * 16 * kOnePage, 16 * kOnePage));
  }
  os::unmap_pages(memory + 16 * kOnePage, 16 * kOnePage);
  os::unmap_pages(memory, 48 * kOnePage);
  for (std::size_t i = 0; i < 3; ++i) CHECK(state_of(memory + i * 16 * kOnePage) == MEM_FREE);
}

TEST_CASE("pages come at an address only where nothing is") {
  auto* memory = static_cast<char*>(os::map_pages(16 * kOnePage));
  REQUIRE(memory != nullptr);
  CHECK_FALSE(os::map_pages_at(address_of(memory), kOnePage));
  os::unmap_pages(memory, 16 * kOnePage);
  REQUIRE(os::map_pages_at(address_of(memory) + kOnePage, 2 * kOnePage));
  memory[kOnePage] = 'x';
  CHECK(memory[2 * kOnePage] == 0);
  os::unmap_pages(memory + kOnePage, 2 * kOnePage);
  CHECK(state_of(memory) == MEM_FREE);
}

TEST_CASE("pages that Windows does not have are refused") {
  CHECK(os::map_pages(SIZE_MAX - kOnePage + 1) == nullptr);
}

TEST_CASE("what may be done with pages is what was asked for, and is seen in the map") {
  auto* memory = static_cast<char*>(os::map_pages(kOnePage));
  REQUIRE(memory != nullptr);
  for (int bits = 1; bits < 8; ++bits) {
    const os::Protection asked{
        .readable = (bits & 1) != 0, .writable = (bits & 3) == 3, .executable = (bits & 4) != 0};
    REQUIRE(os::protect_pages(address_of(memory), kOnePage, asked));
    const Region found = region_at(memory);
    CHECK(found.region.writable == asked.writable);
    CHECK(found.region.executable == asked.executable);
    CHECK(found.region.readable == asked.readable);
  }
  os::unmap_pages(memory, kOnePage);
  CHECK_FALSE(os::protect_pages(address_of(memory), kOnePage, {.readable = true}));
}

TEST_CASE("the map of Windows' memory ascends and names files by their drive") {
  static int data = 0;
  std::vector<char> buffer(os::kMemoryMapLine);
  std::uintptr_t last_end = 0;
  bool ascends = true;
  CHECK(os::visit_memory_map(buffer, [&](const os::MemoryRegion& region) {
    ascends = ascends && region.start >= last_end && region.end > region.start;
    last_end = region.end;
    return true;
  }));
  CHECK(ascends);
  const Region code = region_at(reinterpret_cast<const void*>(&address_on_this_stack));
  CHECK(code.region.executable);
  CHECK(code.region.file_offset > 0);
  REQUIRE(code.path.size() > 3);
  CHECK(code.path.substr(1, 2) == ":/");
  CHECK(code.path.ends_with("/alloctap_unit_tests.exe"));
  const Region variables = region_at(&data);
  CHECK(variables.region.writable);
  CHECK(variables.path == code.path);
  CHECK(region_at(&code).path.empty());
}

TEST_CASE("memory is copied on Windows as far as it is there") {
  auto* memory = static_cast<char*>(os::map_pages(3 * kOnePage));
  REQUIRE(memory != nullptr);
  std::vector<std::byte> buffer(3 * kOnePage, std::byte{0xFF});
  std::memcpy(memory + kOnePage - 2, "across", 6);
  CHECK(os::copy_memory(address_of(memory) + kOnePage - 2, {buffer.data(), 6}) == 6);
  CHECK(std::memcmp(buffer.data(), "across", 6) == 0);
  CHECK(buffer[6] == std::byte{0xFF});
  os::unmap_pages(memory + kOnePage, kOnePage);
  CHECK(os::copy_memory(address_of(memory), buffer) == kOnePage);
  os::unmap_pages(memory, 3 * kOnePage);
  CHECK(os::copy_memory(address_of(memory), buffer) == 0);
  CHECK(os::copy_memory(UINTPTR_MAX - 7, buffer) == 0);
  CHECK(os::copy_memory(address_of(&buffer), {}) == 0);
}

TEST_CASE("a stack of Windows is found, the calling thread's and another one's") {
  const auto check = [] {
    const std::uintptr_t here = address_on_this_stack();
    const os::StackBounds bounds = os::find_stack_bounds(here);
    const auto* block = reinterpret_cast<const NT_TIB*>(::NtCurrentTeb());
    CHECK(bounds.contains(here));
    CHECK(bounds.high == address_of(block->StackBase));
    CHECK(bounds.low >= address_of(block->StackLimit));
  };
  check();
  std::thread(check).join();
  CHECK(os::find_stack_bounds(8).high == 0);
}
