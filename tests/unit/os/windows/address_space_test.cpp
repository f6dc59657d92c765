#include <doctest/doctest.h>

#include <initializer_list>

#include "alloctap/os/windows/virtual_memory.hpp"

namespace {

using namespace alloctap::os;

constexpr SIZE_T kPage = 4096;

}  // namespace

TEST_CASE("an allocation is found whole by any address in it, whatever its parts are") {
  auto* const place =
      static_cast<char*>(::VirtualAlloc(nullptr, 20 * kPage, MEM_RESERVE, PAGE_READWRITE));
  const auto start = reinterpret_cast<std::uintptr_t>(place);
  ::VirtualAlloc(place + 3 * kPage, 2 * kPage, MEM_COMMIT, PAGE_READWRITE);
  ::VirtualAlloc(place + 9 * kPage, kPage, MEM_COMMIT, PAGE_READONLY);
  for (const SIZE_T offset : {SIZE_T{0}, 4 * kPage + 7, 9 * kPage, 20 * kPage - 1}) {
    const AddressSpan span = find_allocation(place + offset);
    CHECK(span.start == start);
    CHECK(span.bytes == 20 * kPage);
  }
  const AddressSpan rest = find_freed_pages(place + 5 * kPage, 0);
  CHECK(rest.start == start + 5 * kPage);
  CHECK(rest.bytes == 15 * kPage);
  ::VirtualFree(place, 0, MEM_RELEASE);
  CHECK(find_allocation(place).bytes == 0);
  CHECK(find_freed_pages(place, 0).bytes == 0);
}

TEST_CASE("pages that are freed are those that hold some of the bytes") {
  const auto* const page = reinterpret_cast<const char*>(std::uintptr_t{0x10000});
  CHECK(find_freed_pages(page, 1).bytes == kPage);
  CHECK(find_freed_pages(page, kPage).bytes == kPage);
  CHECK(find_freed_pages(page + 1, kPage).start == 0x10000);
  CHECK(find_freed_pages(page + 1, kPage).bytes == 2 * kPage);
  CHECK(find_freed_pages(page + kPage - 1, 1).bytes == kPage);
}

TEST_CASE("a handle of the own process is told from another") {
  CHECK(is_this_process(::GetCurrentProcess()));
  const HANDLE self = ::OpenProcess(PROCESS_ALL_ACCESS, FALSE, ::GetCurrentProcessId());
  REQUIRE(self != nullptr);
  CHECK(is_this_process(self));
  ::CloseHandle(self);
  CHECK_FALSE(is_this_process(self));
  CHECK_FALSE(is_this_process(nullptr));
}
