// Every function of allocation_functions.hpp, called as a program calls it: one event each.
#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "interposed_tracker.hpp"

namespace {

using alloctap::testing::Difference;
using alloctap::testing::escape;
using alloctap::testing::EventCount;
using alloctap::testing::InterposedTracker;

/// A session for one test.
struct Recording {
  absl::StatusOr<alloctap::Session> session = InterposedTracker::start();
  Recording() { REQUIRE(session.ok()); }
};

/// What one allocation and one free must have changed.
void check_one_pair(const Difference& difference, std::uint64_t bytes) {
  CHECK(difference.allocations == 1);
  CHECK(difference.allocated_bytes == bytes);
  CHECK(difference.deallocations == 1);
  CHECK(difference.live_bytes == 0);
  CHECK(difference.unmatched_frees == 0);
}

/// Runs `allocate`, frees the block with `release`, and expects one event of each.
template <class Allocate, class Release>
void expect_pair(std::uint64_t bytes, Allocate allocate, Release release) {
  const EventCount count;
  release(escape(allocate()));
  check_one_pair(count.so_far(), bytes);
}

constexpr auto kFree = [](auto* block) { std::free(block); };
constexpr std::align_val_t kAligned{64};
std::size_t size = 100;

}  // namespace

TEST_CASE("each C function that allocates is one event of the size that was asked for") {
  const Recording recording;
  expect_pair(100, [] { return std::malloc(size); }, kFree);
  expect_pair(0, [] { return std::malloc(size - 100); }, kFree);
  expect_pair(300, [] { return std::calloc(3, size); }, kFree);
  expect_pair(100, [] { return std::realloc(nullptr, size); }, kFree);
  expect_pair(700, [] { return reallocarray(nullptr, 7, size); }, kFree);
  expect_pair(100, [] { return memalign(32, size); }, kFree);
  expect_pair(128, [] { return std::aligned_alloc(64, size + 28); }, kFree);
  expect_pair(100, [] { return valloc(size); }, kFree);
  expect_pair(100, [] { return pvalloc(size); }, kFree);
  expect_pair(6, [] { return strdup("hello"); }, kFree);
  expect_pair(4, [] { return strndup("hello", 3); }, kFree);
  expect_pair(6, [] { return strndup("hello", 30); }, kFree);
  expect_pair(
      100,
      [] {
        void* block = nullptr;
        CHECK(posix_memalign(&block, 64, size) == 0);
        return block;
      },
      kFree);
}

TEST_CASE("each operator new with its operator delete is one event of each kind") {
  const Recording recording;
  expect_pair(100, [] { return ::operator new(size); }, [](void* p) { ::operator delete(p); });
  expect_pair(100, [] { return ::operator new[](size); }, [](void* p) { ::operator delete[](p); });
  expect_pair(
      100, [] { return ::operator new(size); }, [](void* p) { ::operator delete(p, size); });
  expect_pair(
      100, [] { return ::operator new[](size); }, [](void* p) { ::operator delete[](p, size); });
  expect_pair(
      100, [] { return ::operator new(size, std::nothrow); },
      [](void* p) { ::operator delete(p, std::nothrow); });
  expect_pair(
      100, [] { return ::operator new[](size, std::nothrow); },
      [](void* p) { ::operator delete[](p, std::nothrow); });
}

TEST_CASE("each aligned operator new with its operator delete is one event of each kind") {
  const Recording recording;
  expect_pair(
      100, [] { return ::operator new(size, kAligned); },
      [](void* p) { ::operator delete(p, kAligned); });
  expect_pair(
      100, [] { return ::operator new[](size, kAligned); },
      [](void* p) { ::operator delete[](p, kAligned); });
  expect_pair(
      100, [] { return ::operator new(size, kAligned, std::nothrow); },
      [](void* p) { ::operator delete(p, kAligned, std::nothrow); });
  expect_pair(
      100, [] { return ::operator new[](size, kAligned, std::nothrow); },
      [](void* p) { ::operator delete[](p, kAligned, std::nothrow); });
  expect_pair(
      100, [] { return ::operator new(size, kAligned); },
      [](void* p) { ::operator delete(p, size, kAligned); });
  expect_pair(
      100, [] { return ::operator new[](size, kAligned); },
      [](void* p) { ::operator delete[](p, size, kAligned); });
}

TEST_CASE("a reallocation is one deallocation and one allocation of the new size") {
  const Recording recording;
  const EventCount count;
  void* block = escape(std::malloc(size));
  block = escape(std::realloc(block, 100'000));
  CHECK(count.so_far().live_bytes == 100'000);
  std::free(block);
  const Difference difference = count.so_far();
  CHECK(difference.allocations == 2);
  CHECK(difference.allocated_bytes == 100'100);
  CHECK(difference.deallocations == 2);
}

TEST_CASE("a call that fails changes nothing but errno, as without the tracker") {
  const Recording recording;
  void* kept = escape(std::malloc(size));
  const EventCount count;
  volatile std::size_t huge = SIZE_MAX - 4096;
  errno = 0;
  CHECK(escape(std::malloc(huge)) == nullptr);
  CHECK(errno == ENOMEM);
  CHECK(escape(std::calloc(huge, huge)) == nullptr);
  CHECK(escape(std::realloc(kept, huge)) == nullptr);
  CHECK(escape(reallocarray(kept, huge / 2, 4)) == nullptr);
  void* untouched = kept;
  CHECK(posix_memalign(&untouched, 3, size) == EINVAL);
  CHECK(untouched == kept);
  CHECK(escape(::operator new(huge, std::nothrow)) == nullptr);
  CHECK(count.so_far().live_bytes == 0);
  std::free(kept);
  CHECK(count.so_far().unmatched_frees == 0);
}

TEST_CASE("operator new that fails throws, and only the exception's own memory is not known") {
  const Recording recording;
  const EventCount count;
  volatile std::size_t huge = SIZE_MAX - 4096;
  CHECK_THROWS_AS(escape(::operator new(huge)), std::bad_alloc);
  CHECK_THROWS_AS(escape(::operator new[](huge, kAligned)), std::bad_alloc);
  CHECK(std::uncaught_exceptions() == 0);
  CHECK(count.so_far().live_bytes == 0);
  CHECK(count.so_far().unmatched_frees == 2);
}

TEST_CASE("realloc to nothing frees, free of nothing is nothing, and errno survives a free") {
  const Recording recording;
  const EventCount count;
  void* block = escape(std::malloc(size));
  volatile std::size_t none = 0;
  CHECK(escape(std::realloc(block, none)) == nullptr);
  std::free(escape<void>(nullptr));
  ::operator delete(escape<void>(nullptr));
  errno = EXDEV;
  std::free(escape(std::malloc(size)));
  CHECK(errno == EXDEV);
  const Difference difference = count.so_far();
  CHECK(difference.allocations == 2);
  CHECK(difference.deallocations == 2);
  CHECK(malloc_usable_size(nullptr) == 0);
}

TEST_CASE("mappings come and go with mmap, mremap and munmap, whole or in part") {
  const Recording recording;
  constexpr std::size_t kPages = 8 * 4096;
  alloctap::MappingContainer& mappings = InterposedTracker::Sink::meta().mappings();
  const std::uint64_t before = mappings.live_bytes();
  void* area = mmap(nullptr, kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(area != MAP_FAILED);
  CHECK(mappings.live_bytes() == before + kPages);
  CHECK(munmap(static_cast<char*>(area) + 4096, 4096) == 0);
  CHECK(mappings.live_bytes() == before + kPages - 4096);
  CHECK(munmap(static_cast<char*>(area) + 1, 4096) == -1);
  CHECK(mappings.live_bytes() == before + kPages - 4096);
  void* moved = mremap(static_cast<char*>(area) + 2 * 4096, 6 * 4096, 16 * 4096, MREMAP_MAYMOVE);
  REQUIRE(moved != MAP_FAILED);
  CHECK(mappings.live_bytes() == before + 17 * 4096);
  CHECK(munmap(area, 4096) == 0);
  CHECK(munmap(moved, 16 * 4096) == 0);
  CHECK(mappings.live_bytes() == before);
  CHECK(mmap64(nullptr, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
  CHECK(mappings.live_bytes() == before);
}

TEST_CASE("memory that the C library hands out itself is seen once, with its caller's free") {
  const Recording recording;
  const EventCount count;
  char* text = nullptr;
  REQUIRE(asprintf(&text, "%0200d", 7) == 200);
  std::free(escape(text));
  const Difference difference = count.so_far();
  CHECK(difference.allocations == difference.deallocations);
  CHECK(difference.allocations >= 1);
  CHECK(difference.unmatched_frees == 0);
}
