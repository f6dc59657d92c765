#include "alloctap/os/memory_protection.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/support/untouched_memory.hpp"

namespace os = alloctap::os;

TEST_CASE("what may be written is told for each page of a range, and nothing changes") {
  const std::size_t page = os::page_size();
  const alloctap::testing::UntouchedMemory memory(3 * page);
  const auto start = reinterpret_cast<std::uintptr_t>(memory.begin());
  std::memset(memory.begin(), 7, 2 * page);
  errno = 77;
  CHECK(os::may_write(start, 3 * page));
  CHECK(os::may_write(start + 5, 1));
  for (const bool is_readable : {true, false}) {
    CAPTURE(is_readable);
    REQUIRE(os::protect_pages(start + page, page, {.readable = is_readable}));
    CHECK(os::may_write(start, page));
    CHECK_FALSE(os::may_write(start, page + 1));
    CHECK_FALSE(os::may_write(start + page + 16, 16));
    CHECK(os::may_write(start + 2 * page, page));
  }
  CHECK(errno == 77);
  REQUIRE(os::protect_pages(start + page, page, {.readable = true, .writable = true}));
  CHECK(os::may_write(start, 3 * page));
  CHECK(memory.begin()[0] == std::byte{7});
  CHECK(memory.begin()[2 * page - 1] == std::byte{7});
  CHECK(memory.begin()[2 * page] == std::byte{0});
}

TEST_CASE("nothing can be written where nothing is mapped") {
  std::uintptr_t start = 0;
  {
    const alloctap::testing::UntouchedMemory memory(os::page_size());
    start = reinterpret_cast<std::uintptr_t>(memory.begin());
  }
  CHECK_FALSE(os::may_write(start, 1));
}
