// What guard pages see in a program of Windows, and what its heaps say of blocks that they never
// had.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/windows/guarded_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::size_t kSize = 48;

/// Each way to get a block, and the way that gives it back.
struct Family {
  const char* name;
  void* (*allocate)(std::size_t size);
  void (*release)(void* block);
};

const Family kFamilies[] = {
    {"HeapAlloc", [](std::size_t size) { return ::HeapAlloc(::GetProcessHeap(), 0, size); },
     [](void* block) { ::HeapFree(::GetProcessHeap(), 0, block); }},
    {"malloc", [](std::size_t size) { return std::malloc(size); },
     [](void* block) { std::free(block); }},
    {"LocalAlloc", [](std::size_t size) { return ::LocalAlloc(LPTR, size); },
     [](void* block) { ::LocalFree(block); }},
    {"GlobalAlloc", [](std::size_t size) { return ::GlobalAlloc(GMEM_FIXED, size); },
     [](void* block) { ::GlobalFree(block); }},
    {"new", [](std::size_t size) { return ::operator new(size); },
     [](void* block) { ::operator delete(block); }},
};

void touch(volatile char* at, bool writes) {
  if (writes) {
    *at = 7;
  } else {
    static_cast<void>(*at);
  }
}

volatile char* make(const Family& family) {
  return static_cast<volatile char*>(escape(family.allocate(kSize)));
}

void drop(const Family& family, volatile char* block) {
  family.release(escape(const_cast<char*>(block)));
}

/// Where the program's own handler saw a fault.
std::uintptr_t handled_at = 0;

LONG CALLBACK open_page(EXCEPTION_POINTERS* raised) {
  const EXCEPTION_RECORD& record = *raised->ExceptionRecord;
  if (record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION) return EXCEPTION_CONTINUE_SEARCH;
  handled_at = record.ExceptionInformation[1];
  auto* const page = reinterpret_cast<void*>(handled_at / os::page_size() * os::page_size());
  const bool is_open = ::VirtualAlloc(page, 1, MEM_COMMIT, PAGE_READWRITE) != nullptr;
  return is_open ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

/// Threads that fault go on as the program's own handlers say, not as ours does.
class OwnHandler {
 public:
  OwnHandler() : handler_(::AddVectoredExceptionHandler(0, &open_page)) {
    OutlivingGuardPages::outlives.store(false);
  }
  ~OwnHandler() {
    OutlivingGuardPages::outlives.store(true);
    ::RemoveVectoredExceptionHandler(handler_);
  }
  OwnHandler(const OwnHandler&) = delete;
  OwnHandler& operator=(const OwnHandler&) = delete;

 private:
  void* handler_;
};

}  // namespace

TEST_CASE("reads and writes behind a block and after its end are told, and made again") {
  const Recording recording;
  for (const Family& family : kFamilies) {
    for (const bool writes : {false, true}) {
      CAPTURE(family.name);
      CAPTURE(writes);
      const auto behind = faults_of([&] {
        volatile char* const block = make(family);
        touch(block + kSize + 3, writes);
        drop(family, block);
      });
      REQUIRE(behind.size() == 1);
      CHECK(behind[0].kind == (writes ? MisuseKind::kWriteBehind : MisuseKind::kReadBehind));
      CHECK(behind[0].address == behind[0].block.address + kSize + 3);
      CHECK(behind[0].block.size == kSize);
      const auto late = faults_of([&] {
        volatile char* const block = make(family);
        drop(family, block);
        touch(block, writes);
      });
      REQUIRE(late.size() == 1);
      CHECK(late[0].kind == (writes ? MisuseKind::kWriteAfterFree : MisuseKind::kReadAfterFree));
      CHECK(late[0].block.freed);
      CHECK(late[0].found.stack != late[0].block.allocated.stack);
      CHECK(late[0].found.stack != late[0].block.gone.stack);
    }
  }
}

TEST_CASE("the stack of a fault leads from the access to the callers of its function") {
  const Recording recording;
  const auto faults = faults_of([] {
    volatile char* const block = make(kFamilies[1]);
    touch(block + kSize, true);
    drop(kFamilies[1], block);
  });
  REQUIRE(faults.size() == 1);
  const alloctap::Result<Snapshot> now = GuardedTracker::snapshot();
  REQUIRE(now.ok());
  const auto frames_of = [&](const BlockCall& call) {
    const auto frames = now->table->frames(call.stack);
    return std::vector<std::uintptr_t>(frames.begin(), frames.end());
  };
  const auto fault = frames_of(faults[0].found);
  const auto allocated = frames_of(faults[0].block.allocated);
  REQUIRE(fault.size() > 2);
  REQUIRE(allocated.size() > 2);
  CHECK(fault.back() == allocated.back());
}

TEST_CASE("a block that is freed twice or from its inside is told, and nothing is freed") {
  const Recording recording;
  const HANDLE heap = ::GetProcessHeap();
  const auto faults = faults_of([&] {
    auto* const block = static_cast<char*>(escape(::HeapAlloc(heap, 0, kSize)));
    CHECK(::HeapFree(heap, 0, escape(block + 16)) == 0);
    CHECK(::HeapFree(heap, 0, escape(block)) != 0);
    CHECK(::HeapFree(heap, 0, escape(block)) == 0);
  });
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].kind == MisuseKind::kInteriorPointer);
  CHECK(faults[1].kind == MisuseKind::kDoubleFree);
}

TEST_CASE("heaps answer for blocks that are not theirs as they do for their own") {
  const Recording recording;
  const HANDLE heap = ::GetProcessHeap();
  const auto faults = faults_of([&] {
    auto* block = static_cast<char*>(escape(::HeapAlloc(heap, HEAP_ZERO_MEMORY, kSize)));
    CHECK(block[kSize - 1] == 0);
    CHECK(::HeapSize(heap, 0, block) == kSize);
    CHECK(::HeapValidate(heap, 0, block) != 0);
    std::memset(block, 'x', kSize);
    block = static_cast<char*>(escape(::HeapReAlloc(heap, HEAP_ZERO_MEMORY, block, 5'000)));
    REQUIRE(block != nullptr);
    CHECK(block[kSize - 1] == 'x');
    CHECK(block[4'999] == 0);
    CHECK(::HeapReAlloc(heap, HEAP_REALLOC_IN_PLACE_ONLY, block, 10'000) == nullptr);
    CHECK(::HeapReAlloc(heap, HEAP_REALLOC_IN_PLACE_ONLY, block, 10) == nullptr);
    CHECK(::HeapSize(heap, 0, block) == 5'000);
    CHECK(::HeapFree(heap, 0, block) != 0);
  });
  CHECK(faults.empty());
}

TEST_CASE("fixed memory answers for itself beside a page, an empty block's too") {
  const Recording recording;
  const auto faults = faults_of([] {
    for (const std::size_t size : {kSize, std::size_t{5}, std::size_t{0}}) {
      CAPTURE(size);
      const HLOCAL fixed = ::LocalAlloc(LPTR, size);
      CHECK(::LocalSize(fixed) == size);
      CHECK(::LocalLock(fixed) == fixed);
      CHECK(::GlobalLock(fixed) == fixed);
      CHECK(::LocalHandle(fixed) == fixed);
      CHECK(::LocalFlags(fixed) == 0);
      CHECK(::LocalFree(fixed) == nullptr);
    }
  });
  CHECK(faults.empty());
}

TEST_CASE("with a heap go the blocks that stand beside pages in its name") {
  const Recording recording;
  static volatile char* block = nullptr;
  const auto faults = faults_of([] {
    const HANDLE heap = ::HeapCreate(0, 0, 0);
    REQUIRE(heap != nullptr);
    block = static_cast<volatile char*>(escape(::HeapAlloc(heap, 0, kSize)));
    CHECK(::HeapDestroy(heap) != 0);
    touch(block, false);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kReadAfterFree);
  CHECK(faults[0].block.size == kSize);
}

TEST_CASE("a handler of the program's has its turn once a fault was told of") {
  const Recording recording;
  std::uintptr_t block_end = 0;
  const auto faults = faults_of([&] {
    const OwnHandler handler;
    volatile char* const block = make(kFamilies[0]);
    block_end = reinterpret_cast<std::uintptr_t>(block) + kSize;
    touch(block + kSize, true);
    drop(kFamilies[0], block);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kWriteBehind);
  CHECK(handled_at == block_end);
}
