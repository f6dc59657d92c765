// Case 23 of hook backends: the program finds everything as an allocator leaves it.
#include <execinfo.h>

#include <array>
#include <cerrno>
#include <new>
#include <stdexcept>

#include "alloctap/event/address_range.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/hooks/plugin.hpp"

namespace {

using namespace alloctap::testing;

/// No power of two; unknown to the compiler.
volatile std::size_t alignment_of_three = 3;

/// How many frames of this call's stack are the tracker's own.
int internal_frames = 0;
void count_internal_frames() {
  std::array<void*, 64> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    const auto call = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]) - 1;
    if (alloctap::internal_code.contains(call)) ++internal_frames;
  }
}

}  // namespace

TEST_CASE("case 23, ABI: errno is as the allocator leaves it") {
  const Recording recording;
  errno = ERANGE;
  void* const block = escape(std::malloc(100));
  const int after_malloc = errno;
  errno = EXDEV;
  std::free(block);
  const int after_free = errno;
  CHECK(after_malloc == ERANGE);
  CHECK(after_free == EXDEV);
}

TEST_CASE("case 23, ABI: blocks are aligned as they were asked for, and errors are returned") {
  const Recording recording;
  for (const std::size_t alignment : {64U, 256U, 4096U}) {
    void* block = nullptr;
    REQUIRE(posix_memalign(&block, alignment, 100) == 0);
    const bool aligned = reinterpret_cast<std::uintptr_t>(escape(block)) % alignment == 0;
    std::free(block);
    CHECK(aligned);
  }
  int place = 0;
  void* untouched = &place;
  const int error = posix_memalign(&untouched, alignment_of_three, 100);
  CHECK(error == EINVAL);
  CHECK(untouched == &place);
}

TEST_CASE("case 23, ABI: an exception passes, and what it allocated is given back") {
  const Recording recording;
  const EventCount count;
  bool caught = false;
  try {
    throw std::runtime_error("a text that is too long to be kept inside of a string");
  } catch (const std::runtime_error&) {
    caught = true;
  }
  const EventTotals totals = count.so_far();
  CHECK(caught);
  CHECK(totals.allocations > 0);
  CHECK(totals.live_bytes == 0);
}

TEST_CASE("case 23, ABI: operator new that fails throws through the hook") {
  if (!sees().throwing_new) return;
  const Recording recording;
  const EventCount count;
  int caught = 0;
  for (const bool aligned : {false, true}) {
    try {
      escape(aligned ? ::operator new[](too_much, std::align_val_t{64}) : ::operator new(too_much));
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  }
  const EventTotals totals = count.so_far();
  CHECK(caught == 2);
  CHECK(totals.live_bytes == 0);
  // What is thrown is made inside of the operator, so its free is that of an unknown block.
  check_unmatched(totals, sees().outermost ? 2 : 0);
}

TEST_CASE(
    "case 23, ABI: the destructors of a module run inside one function that stacks leave out") {
  const Recording recording;
  {
    const Plugin plugin;
    auto* const call_at_end = plugin.function<void(void (*)())>("call_at_end");
    const bool is_found = call_at_end != nullptr;
    REQUIRE(is_found);
    internal_frames = 0;
    call_at_end(&count_internal_frames);
  }
  CHECK(internal_frames == (sees().closing ? 1 : 0));
}
