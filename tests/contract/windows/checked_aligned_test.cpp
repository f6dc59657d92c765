// Aligned blocks of the C libraries of Windows where blocks are checked: they are what they would
// be without, and faults of them are told.
#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "alloctap/os/windows/api.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/windows/checked_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// The functions of one C library; not each has the last two.
struct Library {
  explicit Library(const wchar_t* name) : module(::LoadLibraryW(name)) {
    find("_aligned_malloc", allocate);
    find("_aligned_free", release);
    find("_aligned_realloc", reallocate);
    find("_aligned_offset_malloc", allocate_at);
    find("_aligned_offset_realloc", reallocate_at);
    find("_aligned_recalloc", reallocate_zeroed);
    find("_aligned_msize", measure);
  }

  HMODULE module;
  void* (*allocate)(std::size_t size, std::size_t alignment) = nullptr;
  void (*release)(void* block) = nullptr;
  void* (*reallocate)(void* block, std::size_t size, std::size_t alignment) = nullptr;
  void* (*allocate_at)(std::size_t size, std::size_t alignment, std::size_t offset) = nullptr;
  void* (*reallocate_at)(void* block, std::size_t size, std::size_t alignment,
                         std::size_t offset) = nullptr;
  void* (*reallocate_zeroed)(void* block, std::size_t count, std::size_t size,
                             std::size_t alignment) = nullptr;
  std::size_t (*measure)(void* block, std::size_t alignment, std::size_t offset) = nullptr;

 private:
  template <class Function>
  void find(const char* name, Function*& function) {
    auto* const address = reinterpret_cast<void*>(::GetProcAddress(module, name));
    function = reinterpret_cast<Function*>(address);
  }
};

/// msvcrt.dll is there from the start; the program itself brings the other one in the middle.
template <class Body>
void in_each_library(Body&& body) {
  for (const wchar_t* name : {L"msvcrt.dll", L"ucrtbase.dll"}) {
    const Library library(name);
    REQUIRE(library.module != nullptr);
    body(library);
  }
}

bool is_at(const void* block, std::size_t alignment, std::size_t offset = 0) {
  return (reinterpret_cast<std::uintptr_t>(block) + offset) % alignment == 0;
}

/// Whether all bytes of `[from, to)` are `value`.
bool holds(const void* block, std::size_t from, std::size_t to, int value) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  while (from < to && bytes[from] == value) ++from;
  return from == to;
}

/// From before any session of this program.
void* const kEarly[] = {::_aligned_malloc(100, 64), ::_aligned_malloc(100, 64)};

}  // namespace

TEST_CASE("aligned blocks from before the start are no faults, and stay the library's") {
  const Recording recording;
  const auto faults = faults_of([] {
    std::memset(kEarly[0], 7, 100);
    void* const block = ::_aligned_realloc(kEarly[0], 300, 64);
    REQUIRE(is_at(block, 64));
    CHECK(holds(block, 0, 100, 7));
    ::_aligned_free(block);
    ::_aligned_free(kEarly[1]);
  });
  CHECK(faults.empty());
}

TEST_CASE("aligned blocks keep content and alignment when they are reallocated") {
  const Recording recording;
  in_each_library([](const Library& library) {
    const auto faults = faults_of([&] {
      void* block = library.allocate(100, 256);
      REQUIRE(is_at(block, 256));
      std::memset(block, 7, 100);
      for (const std::size_t size : {5000U, 60U, 61U}) {
        block = library.reallocate(block, size, 256);
        REQUIRE(is_at(block, 256));
        CHECK(holds(block, 0, 60, 7));
        std::memset(block, 7, size);
      }
      CHECK(library.reallocate(block, 0, 256) == nullptr);
      block = library.reallocate(nullptr, 10, 32);
      CHECK(is_at(block, 32));
      library.release(block);
      library.release(nullptr);
    });
    CHECK(faults.empty());
  });
}

TEST_CASE("blocks that are aligned at an offset stay the library's, and may become ours") {
  const Recording recording;
  in_each_library([](const Library& library) {
    const auto faults = faults_of([&] {
      void* block = library.allocate_at(100, 64, 8);
      REQUIRE(is_at(block, 64, 8));
      std::memset(block, 7, 100);
      block = library.reallocate_at(block, 300, 64, 8);
      REQUIRE(is_at(block, 64, 8));
      CHECK(holds(block, 0, 100, 7));
      library.release(block);
      block = library.allocate(100, 64);
      std::memset(block, 7, 100);
      block = library.reallocate_at(block, 200, 64, 8);
      REQUIRE(is_at(block, 64, 8));
      CHECK(holds(block, 0, 100, 7));
      library.release(block);
      block = library.allocate_at(200, 32, 64);
      CHECK(is_at(block, 32));
      library.release(block);
    });
    CHECK(faults.empty());
  });
}

TEST_CASE("the size of an aligned block is what was asked for") {
  const Recording recording;
  in_each_library([](const Library& library) {
    void* const block = library.allocate(100, 64);
    // msvcrt.dll need not tell, but the heap does.
    CHECK(::HeapSize(::GetProcessHeap(), 0, block) == 100);
    if (library.measure != nullptr) CHECK(library.measure(block, 64, 0) == 100);
    library.release(block);
  });
}

TEST_CASE("what an aligned block has more than before is zero where that was asked for") {
  const Recording recording;
  in_each_library([](const Library& library) {
    if (library.reallocate_zeroed == nullptr) return;
    void* block = library.allocate(100, 64);
    std::memset(block, 7, 100);
    block = library.reallocate_zeroed(block, 30, 10, 64);
    CHECK(holds(block, 0, 100, 7));
    CHECK(holds(block, 100, 300, 0));
    CHECK(library.reallocate_zeroed(block, SIZE_MAX / 2, 4, 64) == nullptr);
    CHECK(holds(block, 0, 100, 7));
    library.release(block);
  });
}

TEST_CASE("what an aligned block cannot be had for fails as it does without checks") {
  const Recording recording;
  const auto faults = faults_of([] {
    errno = 0;
    CHECK(::_aligned_malloc(10, 3) == nullptr);
    CHECK(errno == EINVAL);
    errno = 0;
    CHECK(::_aligned_malloc(SIZE_MAX - 100, 64) == nullptr);
    CHECK(errno == ENOMEM);
    void* const block = ::_aligned_malloc(10, 64);
    std::memset(block, 7, 10);
    CHECK(::_aligned_realloc(block, 20, 3) == nullptr);
    CHECK(::_aligned_realloc(block, SIZE_MAX - 100, 64) == nullptr);
    CHECK(holds(block, 0, 10, 7));
    ::_aligned_free(block);
    void* const empty = ::_aligned_malloc(0, 64);
    CHECK(empty != nullptr);
    ::_aligned_free(empty);
  });
  CHECK(faults.empty());
}

TEST_CASE("an aligned block that goes by free, and one of malloc's that goes as aligned, is told") {
  const Recording recording;
  const auto faults = faults_of([] {
    std::free(escape(::_aligned_malloc(10, 64)));
    ::_aligned_free(escape(std::malloc(10)));
    static char global[128];
    ::_aligned_free(escape(static_cast<void*>(global + 64)));
    // Where no smaller block has been.
    auto* const block = static_cast<char*>(escape(::_aligned_malloc(std::size_t{3} << 20, 64)));
    ::_aligned_free(escape(block + 16));
    ::_aligned_free(escape(block));
    CHECK(::_aligned_realloc(escape(block), 10, 64) == nullptr);
  });
  REQUIRE(faults.size() == 5);
  const bool is_told_so =
      faults[0].kind == MisuseKind::kKindMismatch || faults[0].kind == MisuseKind::kWrongHeap;
  CHECK(is_told_so);
  CHECK(faults[0].block.kind == AllocationKind::kAlignedMalloc);
  CHECK(faults[1].call == DeallocationKind::kAlignedFree);
  CHECK(faults[2].kind == MisuseKind::kUnknownPointer);
  CHECK(faults[3].kind == MisuseKind::kInteriorPointer);
  CHECK(faults[4].kind == MisuseKind::kDoubleFree);
}

TEST_CASE("aligned blocks that outlive the session go as they should after it") {
  void* block = nullptr;
  {
    const Recording recording;
    block = ::_aligned_malloc(100, 64);
  }
  const int before = told_misuse().times;
  block = ::_aligned_realloc(block, 200, 64);
  ::_aligned_free(block);
  CHECK(told_misuse().times == before);
}
