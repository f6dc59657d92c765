// Cases 16 and 22 of hook backends: one event for each operation of the program, by whatever name
// it is called.
#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap::testing;

constexpr std::align_val_t k64{64};
constexpr auto kFree = [](void* block) { std::free(block); };
/// Unknown to the compiler.
volatile std::size_t size = 100;

/// Calls `allocate` and gives the block to `release`: one event of each kind, or none at all where
/// it is not `seen`.
template <class Allocate, class Release>
void expect_pair(std::uint64_t bytes, Allocate allocate, Release release, bool seen = true,
                 bool exact = true) {
  // Where realloc is not seen, a block that it moved stays recorded until its address is used
  // again: dlerror's text, if it is short.
  release(escape(static_cast<void*>(allocate())));
  const EventCount count;
  void* const block = escape(static_cast<void*>(allocate()));
  const EventTotals made = count.so_far();
  release(block);
  const EventTotals gone = count.so_far();
  CHECK(block != nullptr);
  CHECK(made.allocations == (seen ? 1 : 0));
  if (exact || !seen) {
    CHECK(made.live_bytes == (seen ? bytes : 0));
  } else {
    CHECK(made.live_bytes >= bytes);
  }
  CHECK(gone.allocations == made.allocations);
  CHECK(gone.deallocations == made.allocations);
  CHECK(gone.live_bytes == 0);
  check_unmatched(gone, 0);
}

template <class Allocate, class Release>
void expect_aligned_pair(std::uint64_t bytes, Allocate allocate, Release release) {
  expect_pair(bytes, allocate, release, sees().aligned_functions, sees().exact_sizes);
}

/// The C++ library rounds the size up before it asks for a block.
template <class Allocate, class Release>
void expect_aligned_new(Allocate allocate, Release release) {
  expect_pair(100, allocate, release, true, sees().outermost);
}

}  // namespace

TEST_CASE("case 16, aliases: one function under several names counts once under each") {
  const Recording recording;
  expect_aligned_pair(128, [] { return memalign(64, size + 28); }, kFree);
  expect_aligned_pair(128, [] { return std::aligned_alloc(64, size + 28); }, kFree);
}

TEST_CASE("case 22, semantics: each C function that allocates is one event of the size asked for") {
  const Recording recording;
  expect_pair(100, [] { return std::malloc(size); }, kFree);
  expect_pair(0, [] { return std::malloc(size - 100); }, kFree, true, false);
  expect_pair(300, [] { return std::calloc(3, size); }, kFree);
  expect_pair(6, [] { return strdup("hello"); }, kFree);
  expect_pair(4, [] { return strndup("hello", 3); }, kFree);
  expect_pair(6, [] { return strndup("hello", 30); }, kFree);
}

TEST_CASE("case 22, semantics: realloc of nothing allocates") {
  const Recording recording;
  expect_pair(100, [] { return std::realloc(nullptr, size); }, kFree);
  // Some that do not tell of realloc do so here, where it is a malloc.
  expect_pair(
      sees().size_of_reallocarray ? 700 : 7, [] { return reallocarray(nullptr, 7, size); }, kFree,
      sees().reallocation != Reallocation::kUnseen);
}

TEST_CASE("case 22, semantics: aligned blocks count where they are told, and frees do no harm") {
  const Recording recording;
  expect_aligned_pair(100, [] { return memalign(32, size); }, kFree);
  expect_aligned_pair(100, [] { return valloc(size); }, kFree);
  expect_pair(
      100, [] { return pvalloc(size); }, kFree, sees().aligned_functions,
      sees().exact_sizes && sees().outermost);
  expect_aligned_pair(
      100,
      [] {
        void* block = nullptr;
        return posix_memalign(&block, 64, size) == 0 ? block : nullptr;
      },
      kFree);
}

TEST_CASE("case 22, semantics: each operator new with its operator delete is one event of each") {
  const Recording recording;
  const auto one = [] { return ::operator new(size); };
  const auto many = [] { return ::operator new[](size); };
  expect_pair(100, one, [](void* p) { ::operator delete(p); });
  expect_pair(100, many, [](void* p) { ::operator delete[](p); });
  expect_pair(100, one, [](void* p) { ::operator delete(p, size); });
  expect_pair(100, many, [](void* p) { ::operator delete[](p, size); });
  expect_pair(
      100, [] { return ::operator new(size, std::nothrow); },
      [](void* p) { ::operator delete(p, std::nothrow); });
  expect_pair(
      100, [] { return ::operator new[](size, std::nothrow); },
      [](void* p) { ::operator delete[](p, std::nothrow); });
}

TEST_CASE("case 22, semantics: each aligned operator new is one event, and so is its delete") {
  const Recording recording;
  const auto one = [] { return ::operator new(size, k64); };
  const auto many = [] { return ::operator new[](size, k64); };
  expect_aligned_new(one, [](void* p) { ::operator delete(p, k64); });
  expect_aligned_new(many, [](void* p) { ::operator delete[](p, k64); });
  expect_aligned_new(one, [](void* p) { ::operator delete(p, size, k64); });
  expect_aligned_new(many, [](void* p) { ::operator delete[](p, size, k64); });
  expect_aligned_new([] { return ::operator new(size, k64, std::nothrow); },
                     [](void* p) { ::operator delete(p, k64, std::nothrow); });
  expect_aligned_new([] { return ::operator new[](size, k64, std::nothrow); },
                     [](void* p) { ::operator delete[](p, k64, std::nothrow); });
}

TEST_CASE("case 22, semantics: a reallocation is a free and an allocation of the new size") {
  const bool seen = sees().reallocation != Reallocation::kUnseen;
  const Recording recording;
  const EventCount count;
  void* block = escape(std::malloc(size));
  block = escape(std::realloc(block, 50'000));
  const EventTotals grown = count.so_far();
  block = escape(std::realloc(block, 60));
  const EventTotals shrunk = count.so_far();
  std::free(block);
  const EventTotals freed = count.so_far();
  CHECK(grown.live_bytes == (seen ? 50'000 : 100));
  CHECK(grown.allocations == (seen ? 2 : 1));
  // Where only the first block is known, and the address may be another's by now.
  if (!seen) return;
  CHECK(shrunk.live_bytes == 60);
  CHECK(freed.live_bytes == 0);
  CHECK(freed.allocations == 3);
  CHECK(freed.deallocations == 3);
  check_unmatched(freed, 0);
}

TEST_CASE("case 22, semantics: realloc to nothing frees, and free of nothing is nothing") {
  const Recording recording;
  const EventCount count;
  void* const block = escape(std::malloc(size));
  volatile std::size_t none = 0;
  void* const left = escape(std::realloc(block, none));
  std::free(escape<void>(nullptr));
  ::operator delete(escape<void>(nullptr));
  const EventTotals totals = count.so_far();
  CHECK(left == nullptr);
  CHECK(totals.allocations == 1);
  CHECK(totals.deallocations == 1);
  check_unmatched(totals, 0);
}

TEST_CASE("case 22, semantics: a realloc that fails keeps the block, or the gap that is stated") {
  // Else the block is gone, whatever the C standard says.
  if (!sees().failed_realloc_keeps) return;
  const Reallocation how = sees().reallocation;
  const Recording recording;
  const EventCount count;
  void* kept = escape(std::malloc(size));
  void* const failed = escape(std::realloc(escape(kept), too_much));
  const EventTotals after = count.so_far();
  std::free(kept);
  const EventTotals freed = count.so_far();
  CHECK(failed == nullptr);
  CHECK(after.live_bytes == (how == Reallocation::kFreedFirst ? 0 : 100));
  CHECK(freed.live_bytes == 0);
  check_unmatched(freed, 0);
}

TEST_CASE("case 22, semantics: calls that fail are no events, and say so as without the hook") {
  const Recording recording;
  const EventCount count;
  errno = 0;
  void* const much = escape(std::malloc(too_much));
  const int error = errno;
  void* const overflow = escape(std::calloc(too_much, 16));
  void* const nothrow = escape(::operator new(too_much, std::nothrow));
  const EventTotals totals = count.so_far();
  CHECK(much == nullptr);
  CHECK(error == ENOMEM);
  CHECK(overflow == nullptr);
  CHECK(nothrow == nullptr);
  // Inside of operator new an exception is thrown and caught.
  if (sees().outermost) CHECK(totals.allocations == 0);
  CHECK(totals.allocations == totals.deallocations);
  CHECK(totals.live_bytes == 0);
}

TEST_CASE("case 22, semantics: memory that the C library hands out is seen once, with its free") {
  const Recording recording;
  const EventCount count;
  char* text = nullptr;
  const int length = asprintf(&text, "%0200d", 7);
  const EventTotals made = count.so_far();
  std::free(escape(text));
  const EventTotals gone = count.so_far();
  CHECK(length == 200);
  CHECK(made.allocations >= 1);
  if (sees().reallocation != Reallocation::kUnseen) {
    CHECK(made.live_bytes >= 201);
    CHECK(gone.live_bytes == 0);
    CHECK(gone.allocations == gone.deallocations);
  }
  check_unmatched(gone, 0);
}

TEST_CASE("case 22, semantics: mmap, mremap and munmap, whole or in part, or nothing of them") {
  constexpr std::size_t kPage = 4096;
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  const std::uint64_t unit = sees().mappings ? kPage : 0;
  const Recording recording;
  const EventCount count;
  char* const area = static_cast<char*>(mmap(nullptr, 8 * kPage, kAccess, kFlags, -1, 0));
  REQUIRE(area != MAP_FAILED);
  CHECK(count.so_far().mapped_bytes == 8 * unit);
  CHECK(munmap(area + kPage, kPage) == 0);
  CHECK(count.so_far().mapped_bytes == 7 * unit);
  CHECK(munmap(area + 1, kPage) == -1);
  CHECK(count.so_far().mapped_bytes == 7 * unit);
  void* const moved = mremap(area + 2 * kPage, 6 * kPage, 16 * kPage, MREMAP_MAYMOVE);
  REQUIRE(moved != MAP_FAILED);
  CHECK(count.so_far().mapped_bytes == 17 * unit);
  CHECK(munmap(area, kPage) == 0);
  CHECK(munmap(moved, 16 * kPage) == 0);
  CHECK(count.so_far().mapped_bytes == 0);
  CHECK(mmap64(nullptr, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
  CHECK(count.so_far().mapped_bytes == 0);
}

TEST_CASE("case 22, semantics: what four threads allocate is all there") {
  constexpr int kRounds = 1000;
  const Recording recording;
  std::array<void*, 4> left{};
  const EventCount count;
  {
    std::vector<std::thread> threads;
    for (void*& block : left) {
      threads.emplace_back([&block] {
        for (int i = 0; i < kRounds; ++i) std::free(escape(std::malloc(24)));
        block = escape(std::malloc(10'000));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const EventTotals made = count.so_far();
  for (void* block : left) std::free(block);
  const EventTotals gone = count.so_far();
  CHECK(made.allocations >= 4 * (kRounds + 1));
  // A thread leaves what the C library keeps of it; and the loader frees thread-local storage of an
  // ended one when its stack is used again.
  CHECK(made.live_bytes > 39'000);
  CHECK(made.live_bytes < 45'000);
  CHECK(made.live_bytes - gone.live_bytes == 40'000);
}

TEST_CASE("case 22, semantics: threads that free each other's blocks leave nothing behind") {
  constexpr int kRounds = 20'000;
  const Recording recording;
  const EventCount count;
  std::atomic<void*> hand_over{nullptr};
  std::thread taker([&] {
    for (int i = 0; i < kRounds; ++i) std::free(hand_over.exchange(nullptr));
  });
  for (int i = 0; i < kRounds; ++i) std::free(hand_over.exchange(escape(std::malloc(24))));
  taker.join();
  std::free(hand_over.load());
  const EventTotals totals = count.so_far();
  CHECK(totals.allocations >= kRounds);
  // As above; what an ended thread left may be gone now.
  CHECK(static_cast<std::int64_t>(totals.live_bytes) < 1000);
  check_unmatched(totals, 0);
}
