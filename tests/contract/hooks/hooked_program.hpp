/// What the cases of hook backends know of the program that they are linked into. One source file
/// of each backend defines it (`tracked_program.hpp`); the cases are compiled once for all.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "alloctap/hook/malloc_hooks/probe_findings.hpp"
#include "alloctap/macros.hpp"

namespace alloctap::testing {

using Reallocation = ProbeFindings::Reallocation;

/// What a backend is expected to see in this program. The cases hold it to that in both ways: what
/// it does not see is not to be counted.
struct Sees {
  Reallocation reallocation = Reallocation::kWhole;
  /// aligned_alloc and its relatives.
  bool aligned_functions = true;
  /// Sizes of aligned blocks are what was asked for; otherwise they may be rounded up.
  bool exact_sizes = true;
  /// The function that the program calls, and not what that calls: operator new, pvalloc.
  bool outermost = true;
  /// operator new that fails throws; a sanitizer may end the program instead.
  bool throwing_new = true;
  /// realloc that fails keeps the block; LeakSanitizer's frees it.
  bool failed_realloc_keeps = true;
  /// How much reallocarray asks for, and not only how many.
  bool size_of_reallocarray = true;
  /// mmap and its relatives.
  bool mappings = true;
  /// Blocks that the loader allocates.
  bool loader = true;
  /// A free of an unknown block is counted.
  bool unknown_frees = true;
  /// dlclose.
  bool closing = true;
  /// Calls of a child that was forked while there were threads.
  bool forked_children = true;
};

/// What happened until now, on all threads.
struct EventTotals {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t mapped_bytes = 0;
  /// Nothing where frees of unknown blocks cannot be told.
  std::optional<std::uint64_t> unmatched_frees;
};

/// The tracker of the program, and its backend.
struct HookedProgram {
  /// Starts a session; returns why it cannot, or "".
  std::string (*start)();
  void (*end)();
  EventTotals (*totals)();
  Sees (*sees)();
};

extern const HookedProgram hooked_program;

[[nodiscard]] inline Sees sees() { return hooked_program.sees(); }

/// A session for one case.
class Recording {
 public:
  Recording() {
    const std::string problem = hooked_program.start();
    REQUIRE_MESSAGE(problem.empty(), problem);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { end(); }
  void end() { hooked_program.end(); }
};

/// Counts what happens from its construction on. Between that and `so_far` no check may run on this
/// thread: doctest allocates.
class EventCount {
 public:
  /// What happened since; unmatched frees too.
  [[nodiscard]] EventTotals so_far() const {
    EventTotals now = hooked_program.totals();
    now.allocations -= start_.allocations;
    now.deallocations -= start_.deallocations;
    now.allocated_bytes -= start_.allocated_bytes;
    now.live_bytes -= start_.live_bytes;
    now.mapped_bytes -= start_.mapped_bytes;
    if (now.unmatched_frees) *now.unmatched_frees -= start_.unmatched_frees.value_or(0);
    return now;
  }

 private:
  EventTotals start_ = hooked_program.totals();
};

/// `expected` where such frees are told, and otherwise nothing is.
inline void check_unmatched(const EventTotals& totals, std::uint64_t expected) {
  CHECK(totals.unmatched_frees.has_value() == sees().unknown_frees);
  if (totals.unmatched_frees) CHECK(*totals.unmatched_frees == expected);
}

/// Keeps the compiler from knowing what a pointer is good for.
template <class T>
ALLOCTAP_ALWAYS_INLINE T* escape(T* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

/// What no allocator has.
inline volatile std::size_t too_much = SIZE_MAX / 4;

}  // namespace alloctap::testing
