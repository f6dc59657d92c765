// What checks find in a program whose allocation functions are all hooked: each way to get a block,
// with each fault.
#include <doctest/doctest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "alloctap/check/block_faults.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/contract/checks/checked_tracker.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::CheckedTracker;
using alloctap::testing::escape;
using alloctap::testing::faults_of;
using alloctap::testing::told_misuse;

/// Each way to get a block of `size` bytes, and the way that gives it back.
struct Family {
  const char* name;
  void* (*allocate)(std::size_t size);
  void (*release)(void* block, std::size_t size);
  AllocationKind kind;
};

void release_by_free(void* block, std::size_t) { std::free(block); }
void* copy_of(std::size_t size) {
  const std::string text(size - 1, 'x');
  return ::strdup(text.c_str());
}
void* aligned_into(std::size_t size) {
  void* block = nullptr;
  REQUIRE(::posix_memalign(&block, 64, size) == 0);
  return block;
}
constexpr auto kAlignment = std::align_val_t{64};

const Family kFamilies[] = {
    {"malloc", [](std::size_t size) { return std::malloc(size); }, &release_by_free,
     AllocationKind::kMalloc},
    {"calloc", [](std::size_t size) { return std::calloc(1, size); }, &release_by_free,
     AllocationKind::kMalloc},
    {"realloc", [](std::size_t size) { return std::realloc(escape(std::malloc(1)), size); },
     &release_by_free, AllocationKind::kMalloc},
    {"strdup", &copy_of, &release_by_free, AllocationKind::kMalloc},
    {"strndup",
     [](std::size_t size) -> void* { return ::strndup("a long text, and then some", size - 1); },
     &release_by_free, AllocationKind::kMalloc},
    {"memalign", [](std::size_t size) { return ::memalign(64, size); }, &release_by_free,
     AllocationKind::kAlignedAlloc},
    {"aligned_alloc", [](std::size_t size) { return std::aligned_alloc(16, size); },
     &release_by_free, AllocationKind::kAlignedAlloc},
    {"posix_memalign", &aligned_into, &release_by_free, AllocationKind::kAlignedAlloc},
    {"valloc", [](std::size_t size) { return ::valloc(size); }, &release_by_free,
     AllocationKind::kAlignedAlloc},
    {"new", [](std::size_t size) { return ::operator new(size); },
     [](void* block, std::size_t) { ::operator delete(block); }, AllocationKind::kNew},
    {"nothrow new", [](std::size_t size) { return ::operator new(size, std::nothrow); },
     [](void* block, std::size_t size) { ::operator delete(block, size); }, AllocationKind::kNew},
    {"new[]", [](std::size_t size) { return ::operator new[](size); },
     [](void* block, std::size_t) { ::operator delete[](block); }, AllocationKind::kNewArray},
    {"aligned new", [](std::size_t size) { return ::operator new(size, kAlignment); },
     [](void* block, std::size_t size) { ::operator delete(block, size, kAlignment); },
     AllocationKind::kAlignedNew},
    {"aligned new[]", [](std::size_t size) { return ::operator new[](size, kAlignment); },
     [](void* block, std::size_t) { ::operator delete[](block, kAlignment); },
     AllocationKind::kAlignedNewArray},
};

constexpr std::size_t kSize = 16;

}  // namespace

TEST_CASE("a block that is used as it should be is no fault, however it came") {
  for (const Family& family : kFamilies) {
    CAPTURE(family.name);
    const auto faults = faults_of([&] {
      auto* const block = static_cast<char*>(escape(family.allocate(kSize)));
      std::memset(block, 1, kSize);
      family.release(escape(block), kSize);
    });
    CHECK(faults.empty());
  }
}

TEST_CASE("a block that is given back twice is refused, however it came") {
  for (const Family& family : kFamilies) {
    CAPTURE(family.name);
    const auto faults = faults_of([&] {
      void* const block = escape(family.allocate(kSize));
      family.release(escape(block), kSize);
      family.release(escape(block), kSize);
    });
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].kind == MisuseKind::kDoubleFree);
    CHECK(faults[0].block.size == kSize);
    CHECK(faults[0].block.kind == family.kind);
    CHECK(faults[0].found.stack != faults[0].block.allocated.stack);
    CHECK(faults[0].block.gone.stack != kNoStackId);
  }
}

TEST_CASE("a byte written on either side is found when the block goes, however it came") {
  for (const Family& family : kFamilies) {
    for (const std::ptrdiff_t offset : {std::ptrdiff_t{-1}, static_cast<std::ptrdiff_t>(kSize)}) {
      CAPTURE(family.name);
      CAPTURE(offset);
      const auto faults = faults_of([&] {
        auto* const block = static_cast<char*>(escape(family.allocate(kSize)));
        escape(block)[offset] = 7;
        family.release(escape(block), kSize);
      });
      REQUIRE(faults.size() == 1);
      CHECK(faults[0].kind == (offset < 0 ? MisuseKind::kWriteBefore : MisuseKind::kWriteBehind));
      CHECK(faults[0].changed.first == offset);
    }
  }
}

TEST_CASE("a release of another kind is told, and the program goes on") {
  // One after the other; those that share a function would be the same fault again.
  const Family* const releases[] = {&kFamilies[0],  &kFamilies[9],  &kFamilies[10],
                                    &kFamilies[11], &kFamilies[12], &kFamilies[13]};
  for (const Family& family : kFamilies) {
    for (const Family* other : releases) {
      CAPTURE(family.name);
      CAPTURE(other->name);
      const auto faults = faults_of([&] { other->release(escape(family.allocate(kSize)), kSize); });
      const bool is_fitting = family.release == other->release || family.kind == other->kind;
      REQUIRE(faults.size() == (is_fitting ? 0 : 1));
      if (is_fitting) continue;
      CHECK(faults[0].kind == (differ_in_alignment(family.kind, faults[0].call)
                                   ? MisuseKind::kWrongAlignment
                                   : MisuseKind::kKindMismatch));
    }
  }
}

TEST_CASE("a free of no block is refused: of the stack, of a global, inside a block") {
  static int global = 0;
  int local = 0;
  const auto faults = faults_of([&] {
    std::free(escape(static_cast<void*>(&global)));
    std::free(escape(static_cast<void*>(&local)));
    auto* const block = static_cast<char*>(escape(std::malloc(64)));
    std::free(escape(block + 16));
    std::free(escape(block));
  });
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].kind == MisuseKind::kUnknownPointer);
  CHECK(faults[1].kind == MisuseKind::kUnknownPointer);
  CHECK(faults[2].kind == MisuseKind::kInteriorPointer);
}

TEST_CASE("realloc of what is no live block gives nothing and frees nothing") {
  const auto faults = faults_of([&] {
    void* const block = escape(std::malloc(kSize));
    std::free(block);
    errno = 0;
    CHECK(std::realloc(escape(block), 32) == nullptr);
    CHECK(errno == EINVAL);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kDoubleFree);
  CHECK(faults[0].call == DeallocationKind::kRealloc);
}

TEST_CASE("realloc keeps what was in the block, looks at it, and frees it for 0 bytes") {
  const auto good = faults_of([] {
    auto* block = static_cast<char*>(escape(std::malloc(8)));
    std::memcpy(block, "abcdefg", 8);
    for (const std::size_t size : {9U, 100U, 100'000U, 16U}) {
      block = static_cast<char*>(escape(std::realloc(escape(block), size)));
      CHECK(std::strcmp(block, "abcdefg") == 0);
    }
    CHECK(std::realloc(escape(block), 0) == nullptr);
  });
  CHECK(good.empty());
  const auto bad = faults_of([] {
    auto* const block = static_cast<char*>(escape(std::malloc(8)));
    escape(block)[8] = 1;
    std::free(escape(std::realloc(escape(block), 20)));
  });
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].kind == MisuseKind::kWriteBehind);
  CHECK(bad[0].call == DeallocationKind::kRealloc);
}

TEST_CASE("calloc gives zeros, and malloc_usable_size what may be used") {
  const auto faults = faults_of([] {
    auto* const block = static_cast<unsigned char*>(escape(std::calloc(5, 7)));
    for (int i = 0; i < 35; ++i) CHECK(block[i] == 0);
    CHECK(::malloc_usable_size(escape(static_cast<void*>(block))) == 35);
    std::memset(block, 1, 35);
    std::free(escape(block));
  });
  CHECK(faults.empty());
}

TEST_CASE("who asks for the size of what is no block gets none, and is told of") {
  static char global[64];
  static std::size_t usable[4];
  const auto faults = faults_of([] {
    auto* const block = static_cast<char*>(escape(std::malloc(24)));
    usable[0] = ::malloc_usable_size(escape(static_cast<void*>(block + 8)));
    std::free(escape(block));
    usable[1] = ::malloc_usable_size(escape(static_cast<void*>(block)));
    usable[2] = ::malloc_usable_size(escape(static_cast<void*>(global)));
    usable[3] = ::malloc_usable_size(nullptr);
  });
  for (const std::size_t bytes : usable) CHECK(bytes == 0);
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].kind == MisuseKind::kInteriorPointer);
  CHECK(faults[0].access.function == "malloc_usable_size");
  CHECK(faults[0].block.size == 24);
  CHECK_FALSE(faults[0].block.freed);
  CHECK(faults[1].kind == MisuseKind::kUnknownPointer);
  CHECK(faults[1].block.freed);
  CHECK(faults[2].kind == MisuseKind::kUnknownPointer);
  CHECK_FALSE(faults[2].block.known);
}

TEST_CASE("pvalloc gives whole pages, and what is behind them is not the program's") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto good = faults_of([&] {
    auto* const block = static_cast<char*>(escape(::pvalloc(1)));
    CHECK(reinterpret_cast<std::uintptr_t>(block) % page == 0);
    std::memset(block, 1, page);
    std::free(escape(block));
  });
  CHECK(good.empty());
  const auto bad = faults_of([&] {
    auto* const block = static_cast<char*>(escape(::pvalloc(1)));
    escape(block)[page] = 1;
    std::free(escape(block));
  });
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].changed.first == static_cast<std::int64_t>(page));
}

TEST_CASE("a look at all blocks is refused inside a dump") {
  static_cast<void>(faults_of([] {
    bool looked = false;
    CallbackOutput output([&](std::string_view) {
      looked |= CheckedTracker::verify_all();
      return alloctap::Status();
    });
    CHECK(CheckedTracker::dump(TextDump{}, output).ok());
    CHECK_FALSE(looked);
  }));
}

TEST_CASE("a write to a freed block is found by a look at all blocks") {
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

TEST_CASE("the program is told of each fault once, on the thread that made it") {
  const auto make_fault = [] {
    auto* const block = static_cast<char*>(escape(std::malloc(kSize)));
    escape(block)[kSize] = 7;
    std::free(escape(block));
  };
  const int before = told_misuse().times;
  os::ThreadId id = 0;
  std::thread([&] {
    id = os::current_thread_id();
    for (int i = 0; i < 5; ++i) make_fault();
  }).join();
  CHECK(told_misuse().times == before + 1);
  CHECK(told_misuse().last.found.thread == id);
  CHECK(told_misuse().last.kind == MisuseKind::kWriteBehind);
}

TEST_CASE("a block of a callback is the program's, after a reallocation that failed as well") {
  told_misuse().allocates = true;
  static_cast<void>(faults_of([] {
    auto* const block = static_cast<char*>(escape(std::malloc(kSize)));
    escape(block)[kSize] = 8;
    std::free(escape(block));
  }));
  told_misuse().allocates = false;
  REQUIRE(told_misuse().block != nullptr);
  const auto faults = faults_of([] {
    const volatile std::size_t too_large = SIZE_MAX / 2;
    CHECK(std::realloc(told_misuse().block, too_large) == nullptr);
    std::free(told_misuse().block);
  });
  CHECK(faults.empty());
}

TEST_CASE("threads that pass blocks to each other make no faults") {
  const auto faults = faults_of([] {
    std::vector<std::thread> threads;
    std::atomic<void*> exchange{nullptr};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&exchange] {
        for (int i = 0; i < 20'000; ++i) {
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
