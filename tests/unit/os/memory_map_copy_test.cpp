#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "alloctap/os/file.hpp"
#include "alloctap/os/memory_map.hpp"
#include "tests/support/temporary_directory.hpp"

namespace os = alloctap::os;
using alloctap::testing::TemporaryDirectory;

TEST_CASE("memory is copied as far as it is there") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::byte> buffer(3 * page, std::byte{0xFF});
  auto* pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  const auto start = reinterpret_cast<std::uintptr_t>(pages);
  std::memcpy(pages + page - 2, "across", 6);
  CHECK(os::copy_memory(start + page - 2, {buffer.data(), 6}) == 6);
  CHECK(std::memcmp(buffer.data(), "across", 6) == 0);
  CHECK(buffer[6] == std::byte{0xFF});

  munmap(pages + page, page);
  CHECK(os::copy_memory(start, buffer) == page);
  munmap(pages, page);
  CHECK(os::copy_memory(start, buffer) == 0);
  CHECK(os::copy_memory(UINTPTR_MAX - 7, buffer) == 0);
  CHECK(os::copy_memory(start, {}) == 0);
}

TEST_CASE("memory behind the end of its file is not there, and no signal comes") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a");
  int error = 0;
  static_cast<void>(os::create_for_writing(path.c_str(), error));
  const os::File file = os::open_for_reading(path.c_str(), error);
  void* place = mmap(nullptr, 16, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  REQUIRE(place != MAP_FAILED);
  std::vector<std::byte> buffer(16);
  CHECK(os::copy_memory(reinterpret_cast<std::uintptr_t>(place), buffer) == 0);
  munmap(place, 16);
}
