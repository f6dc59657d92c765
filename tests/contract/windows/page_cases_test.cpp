// Case 25 of hook backends: pages and views of Windows, each operation one event.
#include <array>

#include "alloctap/os/windows/api.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap::testing;

constexpr SIZE_T kPage = 4096;

/// Calls `map` and `unmap`: a mapping of `bytes`, and none.
template <class Map, class Unmap>
void expect_mapping(std::uint64_t bytes, Map map, Unmap unmap) {
  const EventCount count;
  void* const place = map();
  const EventTotals made = count.so_far();
  unmap(place);
  const EventTotals gone = count.so_far();
  CHECK(place != nullptr);
  CHECK(made.mapped_bytes == bytes);
  CHECK(made.allocations == 0);
  CHECK(gone.mapped_bytes == 0);
}

const auto kRelease = [](void* place) { ::VirtualFree(place, 0, MEM_RELEASE); };

void* commit(void* place, SIZE_T bytes) {
  return ::VirtualAlloc(place, bytes, MEM_COMMIT, PAGE_READWRITE);
}

}  // namespace

TEST_CASE("case 25: pages are one mapping from VirtualAlloc on") {
  const Recording recording;
  expect_mapping(
      3 * kPage,
      [] {
        return ::VirtualAlloc(nullptr, 2 * kPage + 1, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
      },
      kRelease);
  expect_mapping(
      5 * kPage,
      [] {
        return ::VirtualAllocEx(::GetCurrentProcess(), nullptr, 5 * kPage, MEM_RESERVE | MEM_COMMIT,
                                PAGE_READWRITE);
      },
      kRelease);
}

TEST_CASE("case 25: what is reserved is no memory until it is committed, part by part") {
  const Recording recording;
  const EventCount count;
  std::array<std::uint64_t, 5> mapped{};
  auto* const place =
      static_cast<char*>(::VirtualAlloc(nullptr, 100 * kPage, MEM_RESERVE, PAGE_READWRITE));
  mapped[0] = count.so_far().mapped_bytes;
  commit(place, 10 * kPage);
  commit(place + 50 * kPage, kPage);
  mapped[1] = count.so_far().mapped_bytes;
  // The same again, and some more.
  commit(place + 5 * kPage, 10 * kPage);
  mapped[2] = count.so_far().mapped_bytes;
  ::VirtualFree(place + 2 * kPage, kPage, MEM_DECOMMIT);
  mapped[3] = count.so_far().mapped_bytes;
  ::VirtualFree(place, 0, MEM_RELEASE);
  mapped[4] = count.so_far().mapped_bytes;
  CHECK(place != nullptr);
  CHECK(mapped == std::array<std::uint64_t, 5>{0, 11 * kPage, 16 * kPage, 15 * kPage, 0});
}

TEST_CASE("case 25: a view is a mapping of its length") {
  const HANDLE section =
      ::CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE, 0, 20 * kPage, nullptr);
  REQUIRE(section != nullptr);
  const Recording recording;
  const auto unmap = [](void* place) { ::UnmapViewOfFile(place); };
  expect_mapping(
      20 * kPage, [&] { return ::MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 0); }, unmap);
  expect_mapping(
      3 * kPage,
      [&] { return ::MapViewOfFileEx(section, FILE_MAP_READ, 0, 0, 2 * kPage + 1, nullptr); },
      unmap);
  ::CloseHandle(section);
}

TEST_CASE("case 25: page calls that fail change nothing, and leave the system's error") {
  const Recording recording;
  const EventCount count;
  void* const place = ::VirtualAlloc(nullptr, 2 * kPage, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  void* const none =
      ::VirtualAlloc(nullptr, SIZE_T{1} << 44, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  const BOOL released = ::VirtualFree(place, kPage, MEM_RELEASE);
  const DWORD error = ::GetLastError();
  const EventTotals totals = count.so_far();
  kRelease(place);
  CHECK(none == nullptr);
  CHECK(released == 0);
  CHECK(error == ERROR_INVALID_PARAMETER);
  CHECK(totals.mapped_bytes == 2 * kPage);
  CHECK(count.so_far().mapped_bytes == 0);
}
