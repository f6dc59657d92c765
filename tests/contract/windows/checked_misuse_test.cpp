// What checks find on the heaps of Windows: each way to get a block, with each fault.
#include <malloc.h>
#include <objbase.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/windows/checked_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

HANDLE own_heap() {
  static const HANDLE heap = ::HeapCreate(0, 0, 0);
  return heap;
}

/// Each way to get a block of `size` bytes, and the way that gives it back.
struct Family {
  const char* name;
  void* (*allocate)(std::size_t size);
  void (*release)(void* block);
};

void release_to_process(void* block) { ::HeapFree(::GetProcessHeap(), 0, block); }
void release_by_free(void* block) { std::free(block); }

const Family kFamilies[] = {
    {"HeapAlloc", [](std::size_t size) { return ::HeapAlloc(::GetProcessHeap(), 0, size); },
     &release_to_process},
    {"HeapAlloc, zeros",
     [](std::size_t size) { return ::HeapAlloc(::GetProcessHeap(), HEAP_ZERO_MEMORY, size); },
     &release_to_process},
    {"HeapReAlloc",
     [](std::size_t size) {
       void* const block = ::HeapAlloc(::GetProcessHeap(), 0, 1);
       return ::HeapReAlloc(::GetProcessHeap(), 0, block, size);
     },
     &release_to_process},
    {"a heap of its own", [](std::size_t size) { return ::HeapAlloc(own_heap(), 0, size); },
     [](void* block) { ::HeapFree(own_heap(), 0, block); }},
    {"malloc", [](std::size_t size) { return std::malloc(size); }, &release_by_free},
    {"calloc", [](std::size_t size) { return std::calloc(1, size); }, &release_by_free},
    {"realloc", [](std::size_t size) { return std::realloc(escape(std::malloc(1)), size); },
     &release_by_free},
    {"new", [](std::size_t size) { return ::operator new(size); },
     [](void* block) { ::operator delete(block); }},
    {"new[]", [](std::size_t size) { return ::operator new[](size); },
     [](void* block) { ::operator delete[](block); }},
    {"_aligned_malloc", [](std::size_t size) { return ::_aligned_malloc(size, 64); },
     &::_aligned_free},
    {"aligned new", [](std::size_t size) { return ::operator new(size, std::align_val_t{4096}); },
     [](void* block) { ::operator delete(block, std::align_val_t{4096}); }},
    {"LocalAlloc", [](std::size_t size) { return ::LocalAlloc(LMEM_FIXED, size); },
     [](void* block) { ::LocalFree(block); }},
    {"LocalReAlloc",
     [](std::size_t size) {
       return ::LocalReAlloc(::LocalAlloc(LMEM_FIXED, 1), size, LMEM_MOVEABLE);
     },
     [](void* block) { ::LocalFree(block); }},
    {"GlobalAlloc, zeros", [](std::size_t size) { return ::GlobalAlloc(GPTR, size); },
     [](void* block) { ::GlobalFree(block); }},
    {"CoTaskMemAlloc", [](std::size_t size) { return ::CoTaskMemAlloc(size); },
     [](void* block) { ::CoTaskMemFree(block); }},
};

constexpr std::size_t kSize = 16;

}  // namespace

TEST_CASE("a block that is used as it should be is no fault, however it came") {
  const Recording recording;
  for (const Family& family : kFamilies) {
    CAPTURE(family.name);
    const auto faults = faults_of([&] {
      auto* const block = static_cast<char*>(escape(family.allocate(kSize)));
      std::memset(block, 1, kSize);
      family.release(escape(block));
    });
    CHECK(faults.empty());
  }
}

TEST_CASE("a block that is given back twice is refused, however it came") {
  const Recording recording;
  for (const Family& family : kFamilies) {
    CAPTURE(family.name);
    const auto faults = faults_of([&] {
      void* const block = escape(family.allocate(kSize));
      family.release(escape(block));
      family.release(escape(block));
    });
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].kind == MisuseKind::kDoubleFree);
    CHECK(faults[0].block.size == kSize);
    CHECK(faults[0].found.stack != faults[0].block.allocated.stack);
    CHECK(faults[0].block.gone.stack != kNoStackId);
  }
}

TEST_CASE("a byte written on either side is found when the block goes, however it came") {
  const Recording recording;
  for (const Family& family : kFamilies) {
    for (const std::ptrdiff_t offset : {std::ptrdiff_t{-1}, static_cast<std::ptrdiff_t>(kSize)}) {
      CAPTURE(family.name);
      CAPTURE(offset);
      const auto faults = faults_of([&] {
        auto* const block = static_cast<char*>(escape(family.allocate(kSize)));
        escape(block)[offset] = 7;
        family.release(escape(block));
      });
      REQUIRE(faults.size() == 1);
      CHECK(faults[0].kind == (offset < 0 ? MisuseKind::kWriteBefore : MisuseKind::kWriteBehind));
      CHECK(faults[0].changed.first == offset);
    }
  }
}

TEST_CASE("a free of no block is refused: of the stack, of a global, inside a block") {
  const Recording recording;
  static int global = 0;
  int local = 0;
  BOOL freed = TRUE;
  DWORD error = 0;
  const auto faults = faults_of([&] {
    std::free(escape(static_cast<void*>(&global)));
    ::SetLastError(ERROR_DISK_FULL);
    freed = ::HeapFree(::GetProcessHeap(), 0, escape(static_cast<void*>(&local)));
    error = ::GetLastError();
    // Where no smaller block has been: one that was freed there is told as freed twice.
    auto* const block = static_cast<char*>(escape(std::malloc(std::size_t{3} << 20)));
    std::free(escape(block + 16));
    std::free(escape(block));
  });
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].kind == MisuseKind::kUnknownPointer);
  CHECK(faults[1].kind == MisuseKind::kUnknownPointer);
  CHECK(freed == 0);
  CHECK(error == ERROR_INVALID_PARAMETER);
  CHECK(faults[2].kind == MisuseKind::kInteriorPointer);
}

TEST_CASE("a block that is given to another heap is told with both, and goes to its own") {
  const Recording recording;
  const auto faults = faults_of([] {
    void* const block = escape(::HeapAlloc(own_heap(), 0, kSize));
    CHECK(::HeapFree(::GetProcessHeap(), 0, block) != 0);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kWrongHeap);
  CHECK(faults[0].heap.value == ::GetProcessHeap());
  CHECK(faults[0].block.heap.value == own_heap());
  CHECK(::HeapValidate(own_heap(), 0, nullptr) != 0);
  CHECK(::HeapValidate(::GetProcessHeap(), 0, nullptr) != 0);
}

TEST_CASE("blocks from before the start are no faults, whichever way they go") {
  // The first session of this program is not the first case's where cases are run alone.
  void* const block = ::HeapAlloc(::GetProcessHeap(), 0, kSize);
  const Recording recording;
  const auto faults = faults_of([&] {
    CHECK(::HeapSize(::GetProcessHeap(), 0, block) == kSize);
    void* const moved = ::HeapReAlloc(::GetProcessHeap(), 0, block, 100'000);
    REQUIRE(moved != nullptr);
    CHECK(::HeapFree(::GetProcessHeap(), 0, moved) != 0);
  });
  CHECK(faults.empty());
}

TEST_CASE("a write to a freed block is found by a look at all blocks") {
  const Recording recording;
  const auto faults = faults_of([] {
    auto* const block = static_cast<char*>(escape(std::malloc(kSize)));
    std::free(block);
    escape(block)[4] = 7;
    CHECK(CheckedTracker::verify_all());
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kWriteAfterFree);
  CHECK(faults[0].by_sweep);
}

TEST_CASE("blocks that outlive the session are checked, and given back, after it") {
  void* block = nullptr;
  {
    const Recording recording;
    block = escape(std::malloc(100));
  }
  std::free(escape(block));
  const int before = told_misuse().times;
  std::free(escape(block));
  CHECK(told_misuse().times == before + 1);
  CHECK(told_misuse().last.kind == MisuseKind::kDoubleFree);
}

TEST_CASE("another tracker cannot hook the process's heaps after this one") {
  {
    const Recording recording;
  }
  const alloctap::Status status = WindowsHeapHook::install<EventSinkArchetype>();
  CHECK(status.code() == alloctap::StatusCode::kFailedPrecondition);
  const Recording recording;
}

TEST_CASE("threads that pass blocks to each other make no faults") {
  const Recording recording;
  const auto faults = faults_of([] {
    std::vector<std::thread> threads;
    std::atomic<void*> exchange{nullptr};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&exchange] {
        for (int i = 0; i < 5'000; ++i) {
          void* const block = escape(std::malloc(static_cast<std::size_t>(i % 500 + 1)));
          std::memset(block, i, static_cast<std::size_t>(i % 500 + 1));
          std::free(exchange.exchange(block));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::free(exchange.load());
    CHECK(CheckedTracker::verify_all());
  });
  CHECK(faults.empty());
}
