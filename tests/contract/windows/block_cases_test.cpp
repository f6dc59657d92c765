// Case 25 of hook backends: one event for each operation of the program on a heap of Windows, by
// whatever name it is called.
#include <objbase.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "alloctap/os/windows/api.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap::testing;

/// Unknown to the compiler.
volatile std::size_t size = 100;

/// One event of each kind, of `bytes`.
template <class Allocate, class Release>
void expect_pair(std::uint64_t bytes, Allocate allocate, Release release) {
  const EventCount count;
  auto* const block = escape(static_cast<void*>(allocate()));
  const EventTotals made = count.so_far();
  release(block);
  const EventTotals gone = count.so_far();
  CHECK(block != nullptr);
  CHECK(made.allocations == 1);
  CHECK(made.live_bytes == bytes);
  CHECK(made.mapped_bytes == 0);
  CHECK(gone.allocations == 1);
  CHECK(gone.deallocations == 1);
  CHECK(gone.live_bytes == 0);
}

const auto kHeapFree = [](void* block) { ::HeapFree(::GetProcessHeap(), 0, block); };

}  // namespace

TEST_CASE("case 25: a block of a heap is one event of the size asked for") {
  const Recording recording;
  expect_pair(100, [] { return ::HeapAlloc(::GetProcessHeap(), 0, size); }, kHeapFree);
  expect_pair(
      100, [] { return ::HeapAlloc(::GetProcessHeap(), HEAP_ZERO_MEMORY, size); }, kHeapFree);
  // Of pages of its own, which are the heap's and no mapping of the program's.
  expect_pair(
      size * 100'000, [] { return ::HeapAlloc(::GetProcessHeap(), 0, size * 100'000); }, kHeapFree);
}

TEST_CASE("case 25: malloc and its relatives are one event, and so is free") {
  const Recording recording;
  const auto release = [](void* block) { std::free(block); };
  expect_pair(100, [] { return std::malloc(size); }, release);
  expect_pair(300, [] { return std::calloc(3, size); }, release);
  expect_pair(100, [] { return std::realloc(nullptr, size); }, release);
}

TEST_CASE("case 25: operator new is one event, and so is operator delete") {
  const Recording recording;
  expect_pair(
      100, [] { return ::operator new(size); }, [](void* block) { ::operator delete(block); });
  expect_pair(
      100, [] { return ::operator new[](size); }, [](void* block) { ::operator delete[](block); });
}

TEST_CASE("case 25: the universal C library's malloc is one event") {
  const HMODULE library = ::LoadLibraryW(L"ucrtbase.dll");
  REQUIRE(library != nullptr);
  static const auto allocate = reinterpret_cast<void* (*)(std::size_t)>(
      reinterpret_cast<void*>(::GetProcAddress(library, "malloc")));
  static const auto release =
      reinterpret_cast<void (*)(void*)>(reinterpret_cast<void*>(::GetProcAddress(library, "free")));
  REQUIRE((allocate != nullptr && release != nullptr));
  const Recording recording;
  expect_pair(100, [] { return allocate(size); }, [](void* block) { release(block); });
}

TEST_CASE("case 25: what GlobalAlloc, LocalAlloc and CoTaskMemAlloc hand out is one event") {
  const Recording recording;
  expect_pair(
      100, [] { return ::GlobalAlloc(GMEM_FIXED, size); }, [](void* b) { ::GlobalFree(b); });
  expect_pair(100, [] { return ::LocalAlloc(LMEM_FIXED, size); }, [](void* b) { ::LocalFree(b); });
  expect_pair(100, [] { return ::CoTaskMemAlloc(size); }, [](void* b) { ::CoTaskMemFree(b); });
}

TEST_CASE("case 25: a reallocation moves what is recorded, and leaves it where it fails") {
  const Recording recording;
  const HANDLE heap = ::GetProcessHeap();
  const EventCount count;
  void* block = escape(::HeapAlloc(heap, 0, size));
  void* const in_place = ::HeapReAlloc(heap, HEAP_REALLOC_IN_PLACE_ONLY, block, size - 10);
  const EventTotals smaller = count.so_far();
  void* const moved = escape(::HeapReAlloc(heap, 0, block, size * 1000));
  const EventTotals larger = count.so_far();
  void* const failed = ::HeapReAlloc(heap, 0, moved, too_much);
  const EventTotals kept = count.so_far();
  ::HeapFree(heap, 0, moved);
  const EventTotals gone = count.so_far();
  CHECK(in_place == block);
  CHECK(smaller.live_bytes == 90);
  CHECK(larger.live_bytes == 100'000);
  CHECK(failed == nullptr);
  CHECK(kept.live_bytes == 100'000);
  CHECK(kept.allocations == larger.allocations);
  CHECK(gone.allocations == 3);
  CHECK(gone.live_bytes == 0);
}

TEST_CASE("case 25: blocks that were not to be had are no event") {
  const Recording recording;
  const EventCount count;
  const bool none = ::HeapAlloc(::GetProcessHeap(), 0, too_much) == nullptr &&
                    escape(std::malloc(too_much)) == nullptr &&
                    ::GlobalAlloc(GMEM_FIXED, too_much) == nullptr;
  const EventTotals totals = count.so_far();
  CHECK(none);
  CHECK(totals.allocations == 0);
  CHECK(totals.live_bytes == 0);
}

TEST_CASE("case 25: a heap's blocks are gone with it, and what it took for itself never shows") {
  const Recording recording;
  const EventCount count;
  const HANDLE heap = ::HeapCreate(0, 0, 0);
  const EventTotals empty = count.so_far();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    bytes += i * 7 % 5000;
    static_cast<void>(escape(::HeapAlloc(heap, 0, i * 7 % 5000)));
  }
  const EventTotals full = count.so_far();
  const BOOL destroyed = ::HeapDestroy(heap);
  const EventTotals gone = count.so_far();
  CHECK(empty.allocations == 0);
  CHECK(full.allocations == 1000);
  CHECK(full.live_bytes == bytes);
  CHECK(full.mapped_bytes == 0);
  CHECK(destroyed != 0);
  CHECK(gone.deallocations == 1000);
  CHECK(gone.live_bytes == 0);
}

TEST_CASE("case 25: a function whose address GetProcAddress tells is seen, and passes on after") {
  using Allocate = void*(WINAPI*)(HANDLE, DWORD, SIZE_T);
  Allocate allocate = nullptr;
  {
    const Recording recording;
    allocate = reinterpret_cast<Allocate>(reinterpret_cast<void*>(
        ::GetProcAddress(::GetModuleHandleW(L"kernel32.dll"), "HeapAlloc")));
    expect_pair(100, [&] { return allocate(::GetProcessHeap(), 0, size); }, kHeapFree);
  }
  void* const block = allocate(::GetProcessHeap(), 0, size);
  CHECK(block != nullptr);
  kHeapFree(block);
}

TEST_CASE("case 25: what calls of heaps leave in GetLastError is the system's") {
  const Recording recording;
  ::SetLastError(ERROR_DISK_FULL);
  void* const block = escape(::HeapAlloc(::GetProcessHeap(), 0, size));
  const DWORD allocated = ::GetLastError();
  ::HeapFree(::GetProcessHeap(), 0, block);
  const DWORD freed = ::GetLastError();
  static_cast<void>(::LocalAlloc(LMEM_FIXED, too_much));
  const DWORD failed = ::GetLastError();
  CHECK(allocated == ERROR_DISK_FULL);
  CHECK(freed == ERROR_DISK_FULL);
  CHECK(failed == ERROR_NOT_ENOUGH_MEMORY);
}
