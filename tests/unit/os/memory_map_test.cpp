#include "alloctap/os/memory_map.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "alloctap/os/file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

namespace os = alloctap::os;
using os::MemoryRegion;

/// A region whose path outlives the visit.
struct Region {
  MemoryRegion region;
  std::string path;
};

std::vector<Region> all_regions(std::size_t buffer_bytes) {
  std::vector<char> buffer(buffer_bytes);
  std::vector<Region> regions;
  regions.reserve(10'000);
  CHECK(os::visit_memory_map(buffer, [&](const MemoryRegion& region) {
    regions.push_back({region, std::string(region.path)});
    return true;
  }));
  return regions;
}

const Region* find(const std::vector<Region>& regions, const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (const Region& candidate : regions) {
    if (candidate.region.start <= wanted && wanted < candidate.region.end) return &candidate;
  }
  return nullptr;
}

bool ascends(const std::vector<Region>& regions) {
  std::uintptr_t last_end = 0;
  for (const auto& [region, path] : regions) {
    if (region.start < last_end || region.end <= region.start) return false;
    last_end = region.end;
  }
  return true;
}

/// A file below so many directories that its path is longer than any line that is understood, with
/// a name that looks like a line's start.
os::File make_deeply_buried_file(const std::string& top) {
  const std::string name(250, 'd');
  int error = 0;
  os::File directory = os::open_for_reading(top.c_str(), error);
  for (int i = 0; i < 20; ++i) {
    CHECK(mkdirat(directory.descriptor(), name.c_str(), 0700) == 0);
    directory = os::File(openat(directory.descriptor(), name.c_str(), O_RDONLY | O_CLOEXEC));
  }
  return os::File(openat(directory.descriptor(), "7f0000000000-7f0000001000 rwxp",
                         O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

}  // namespace

TEST_CASE("a line with a path is parsed field by field, and without the mark of a gone file") {
  const MemoryRegion region = os::parse_memory_region(
      "7f1234560000-7f1234562000 r-xp 0000a000 fd:01 131                   /tmp/a b (deleted)");
  CHECK(region.start == 0x7f1234560000);
  CHECK(region.end == 0x7f1234562000);
  CHECK(region.file_offset == 0xa000);
  CHECK(region.readable);
  CHECK(region.executable);
  CHECK(region.path == "/tmp/a b");
  CHECK(region.is_gone);
  CHECK_FALSE(os::parse_memory_region("1000-2000 r-xp 0 fd:01 131    /tmp/(deleted)").is_gone);
}

TEST_CASE("what may be written is told from what others see") {
  const MemoryRegion data = os::parse_memory_region("1000-2000 rw-p 00000000 fd:01 131   /tmp/a");
  CHECK(data.writable);
  CHECK_FALSE(data.shared);
  const MemoryRegion shared = os::parse_memory_region("1000-2000 r--s 00000000 fd:01 131   /tmp/a");
  CHECK_FALSE(shared.writable);
  CHECK(shared.shared);
}

TEST_CASE("a line without a path is parsed to anonymous memory") {
  const MemoryRegion region = os::parse_memory_region("00400000-00401000 ---p 00000000 00:00 0 ");
  CHECK(region.start == 0x400000);
  CHECK(region.end == 0x401000);
  CHECK_FALSE(region.readable);
  CHECK_FALSE(region.executable);
  CHECK(region.path.empty());
}

TEST_CASE("a name that the system gives is kept with its bracket") {
  CHECK(os::parse_memory_region("1000-2000 rw-p 00000000 00:00 0    [stack]").path == "[stack]");
}

TEST_CASE("a line that ends too early is parsed as far as it goes") {
  CHECK(os::parse_memory_region("").end == 0);
  CHECK(os::parse_memory_region("1000").start == 0x1000);
  CHECK(os::parse_memory_region("1000-2000 r").readable);
  CHECK(os::parse_memory_region("1000-2000 r-xp 10").path.empty());
}

TEST_CASE("the regions of this process ascend and hold its code, data and stack") {
  static int data = 0;
  const int local = 0;
  const auto regions = all_regions(1 << 16);
  CHECK(ascends(regions));
  const Region* code = find(regions, reinterpret_cast<const void*>(&ascends));
  REQUIRE(code != nullptr);
  CHECK(code->region.executable);
  CHECK(code->path.starts_with('/'));
  const Region* variables = find(regions, &data);
  REQUIRE(variables != nullptr);
  CHECK(variables->region.readable);
  CHECK_FALSE(variables->region.executable);
  CHECK(find(regions, &local) != nullptr);
}

TEST_CASE("a visit that returns false is the last") {
  std::vector<char> buffer(os::kMemoryMapLine);
  int visits = 0;
  CHECK(os::visit_memory_map(buffer, [&](const MemoryRegion&) { return ++visits < 3; }));
  CHECK(visits == 3);
}

TEST_CASE("the mapping of a removed file keeps its path and says that it is gone") {
  const alloctap::testing::TemporaryDirectory directory;
  const std::string path = directory.file("a file");
  int error = 0;
  os::File file = os::create_for_writing(path.c_str(), error);
  REQUIRE(os::write_all(file.descriptor(), "content") == 0);
  file = os::open_for_reading(path.c_str(), error);
  void* pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(os::remove_file(path.c_str()) == 0);
  const auto regions = all_regions(1 << 16);
  munmap(pages, 4096);
  const Region* region = find(regions, pages);
  REQUIRE(region != nullptr);
  CHECK(region->path == path);
  CHECK(region->region.is_gone);
}

TEST_CASE("a path longer than the buffer is cut and the lines behind it stay right") {
  const alloctap::testing::TemporaryDirectory directory;
  const std::string top = directory.file("");
  const os::File file = make_deeply_buried_file(top);
  REQUIRE(file.is_open());
  void* pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  REQUIRE(pages != MAP_FAILED);
  const auto cut = all_regions(os::kMemoryMapLine);
  const auto whole = all_regions(1 << 16);
  munmap(pages, 4096);
  CHECK(ascends(cut));
  const Region* region = find(cut, pages);
  const Region* whole_region = find(whole, pages);
  REQUIRE(region != nullptr);
  REQUIRE(whole_region != nullptr);
  CHECK(region->path.size() > 4000);
  CHECK(region->path.size() < whole_region->path.size());
  CHECK(whole_region->path.starts_with(region->path));
}
