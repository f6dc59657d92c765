// What checks make of the other functions of Windows' heaps: those that change a block, look at
// one, or end a heap.
#include <csetjmp>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "alloctap/os/windows/api.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/windows/checked_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::size_t kSize = 16;

std::jmp_buf caught;
void* kept;

LONG CALLBACK leave_by_jump(EXCEPTION_POINTERS* raised) {
  if (raised->ExceptionRecord->ExceptionCode != STATUS_NO_MEMORY) return EXCEPTION_CONTINUE_SEARCH;
  std::longjmp(caught, 1);
}

/// Whether `call` was left by an exception for want of memory.
bool raises(void (*call)()) {
  void* const handler = ::AddVectoredExceptionHandler(1, &leave_by_jump);
  volatile bool left = true;
  if (setjmp(caught) == 0) {
    call();
    left = false;
  }
  ::RemoveVectoredExceptionHandler(handler);
  return left;
}

}  // namespace

TEST_CASE("a reallocation keeps what was in the block, and looks at it") {
  const Recording recording;
  const HANDLE heap = ::GetProcessHeap();
  const auto good = faults_of([&] {
    auto* block = static_cast<char*>(escape(::HeapAlloc(heap, 0, 8)));
    std::memcpy(block, "abcdefg", 8);
    for (const SIZE_T size : {9U, 100U, 100'000U, 16U}) {
      block = static_cast<char*>(escape(::HeapReAlloc(heap, HEAP_ZERO_MEMORY, block, size)));
      CHECK(std::strcmp(block, "abcdefg") == 0);
      CHECK(::HeapSize(heap, 0, block) == size);
    }
    CHECK(::HeapFree(heap, 0, block) != 0);
  });
  CHECK(good.empty());
  const auto bad = faults_of([&] {
    auto* const block = static_cast<char*>(escape(std::malloc(8)));
    escape(block)[8] = 1;
    std::free(escape(std::realloc(escape(block), 20)));
  });
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].kind == MisuseKind::kWriteBehind);
  CHECK(bad[0].call == DeallocationKind::kRealloc);
}

TEST_CASE("a reallocation of what is no live block gives nothing and frees nothing") {
  const Recording recording;
  const auto faults = faults_of([&] {
    void* const block = escape(std::malloc(kSize));
    std::free(block);
    CHECK(std::realloc(escape(block), 32) == nullptr);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kDoubleFree);
  CHECK(faults[0].call == DeallocationKind::kRealloc);
}

TEST_CASE("in its place a block gets smaller with a guard at its new end, and never larger") {
  const Recording recording;
  const HANDLE heap = ::GetProcessHeap();
  constexpr DWORD kInPlace = HEAP_REALLOC_IN_PLACE_ONLY;
  const auto good = faults_of([&] {
    auto* const block = static_cast<char*>(escape(::HeapAlloc(heap, 0, 100)));
    std::memset(block, 5, 100);
    CHECK(::HeapReAlloc(heap, kInPlace, block, 200) == nullptr);
    CHECK(::HeapReAlloc(heap, kInPlace, block, 40) == block);
    CHECK(::HeapSize(heap, 0, block) == 40);
    for (int i = 0; i < 40; ++i) CHECK(block[i] == 5);
    CHECK(::HeapFree(heap, 0, block) != 0);
  });
  CHECK(good.empty());
  const auto bad = faults_of([&] {
    auto* const block = static_cast<char*>(escape(::HeapAlloc(heap, 0, 100)));
    CHECK(::HeapReAlloc(heap, kInPlace, block, 40) == block);
    escape(block)[40] = 1;
    CHECK(::HeapFree(heap, 0, block) != 0);
  });
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].changed.first == 40);
}

TEST_CASE("a block that is known is valid, and one that was freed is not") {
  const Recording recording;
  const HANDLE heap = ::GetProcessHeap();
  void* const block = escape(::HeapAlloc(heap, 0, kSize));
  CHECK(::HeapValidate(heap, 0, block) != 0);
  CHECK(::HeapFree(heap, 0, block) != 0);
  CHECK(::HeapValidate(heap, 0, block) == 0);
}

TEST_CASE("a heap that goes is looked at, with what is kept of it, and no more after that") {
  const Recording recording;
  const auto faults = faults_of([] {
    const HANDLE heap = ::HeapCreate(0, 0, 0);
    auto* const live = static_cast<char*>(escape(::HeapAlloc(heap, 0, kSize)));
    auto* const freed = static_cast<char*>(escape(::HeapAlloc(heap, 0, kSize)));
    CHECK(::HeapFree(heap, 0, freed) != 0);
    escape(live)[kSize] = 7;
    escape(freed)[3] = 7;
    for (int i = 0; i < 1000; ++i) static_cast<void>(escape(::HeapAlloc(heap, 0, 5000)));
    CHECK(::HeapDestroy(heap) != 0);
    // What was kept back would be looked at now, and given to a heap that is no more.
    for (int i = 0; i < 300; ++i) std::free(escape(std::malloc(100)));
    CHECK(CheckedTracker::verify_all());
  });
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].kind == MisuseKind::kWriteAfterFree);
  CHECK(faults[1].kind == MisuseKind::kWriteBehind);
}

TEST_CASE("heaps without a lock, and memory that may move, are left alone") {
  const Recording recording;
  const auto faults = faults_of([] {
    const HANDLE heap = ::HeapCreate(HEAP_NO_SERIALIZE, 0, 0);
    for (int i = 0; i < 300; ++i) CHECK(::HeapFree(heap, 0, ::HeapAlloc(heap, 0, 100)) != 0);
    CHECK(::HeapDestroy(heap) != 0);
    const HGLOBAL movable = ::GlobalAlloc(GMEM_MOVEABLE | GMEM_ZEROINIT, 100);
    REQUIRE(movable != nullptr);
    CHECK(::GlobalSize(movable) == 100);
    CHECK(::GlobalLock(movable) != nullptr);
    ::GlobalUnlock(movable);
    const HGLOBAL larger = ::GlobalReAlloc(movable, 5000, GMEM_MOVEABLE);
    REQUIRE(larger != nullptr);
    CHECK(::GlobalFree(larger) == nullptr);
  });
  CHECK(faults.empty());
}

TEST_CASE("a heap that has room for a block and not for its guards gives the block") {
  const Recording recording;
  const HANDLE heap = ::HeapCreate(0, 0, 1 << 20);
  // Not checked: what the heap itself can give.
  SIZE_T most = 0;
  for (SIZE_T size = 1 << 20; most == 0; size -= 16) {
    void* const block = ::HeapAlloc(heap, HEAP_NO_SERIALIZE, size);
    if (block == nullptr) continue;
    most = size;
    CHECK(::HeapFree(heap, HEAP_NO_SERIALIZE, block) != 0);
  }
  void* const block = ::HeapAlloc(heap, 0, most);
  CHECK(block != nullptr);
  CHECK(::HeapFree(heap, 0, block) != 0);
  CHECK(::HeapDestroy(heap) != 0);
}

TEST_CASE("a call that raises an exception for want of memory leaves nothing behind") {
  const Recording recording;
  const auto faults = faults_of([] {
    kept = escape(::HeapAlloc(::GetProcessHeap(), 0, 100));
    REQUIRE(raises([] { ::HeapAlloc(::GetProcessHeap(), HEAP_GENERATE_EXCEPTIONS, too_much); }));
    REQUIRE(raises(
        [] { ::HeapReAlloc(::GetProcessHeap(), HEAP_GENERATE_EXCEPTIONS, kept, too_much); }));
    // This thread's calls are seen as before, and the block is as it was.
    CHECK(::HeapSize(::GetProcessHeap(), 0, kept) == 100);
    CHECK(::HeapFree(::GetProcessHeap(), 0, kept) != 0);
    CHECK(::HeapFree(::GetProcessHeap(), 0, kept) == 0);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kDoubleFree);
}
