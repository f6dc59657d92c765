/// The tracker of these programs, and what each is built to find of its allocator's hooks.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "alloctap/hook/malloc_hooks.hpp"
#include "alloctap/tracker.hpp"

namespace alloctap::testing {

struct HookedConfig : DefaultConfig {
  using Hook = MallocHooks;
};
using HookedTracker = Tracker<HookedConfig>;

/// From the environment: ALLOCTAP_PROVIDER, ALLOCTAP_REALLOC (whole, pair, freed-first, unseen),
/// ALLOCTAP_UNSEEN (names of functions), ALLOCTAP_FORK (untold: a child's calls are).
[[nodiscard]] inline std::string_view expected(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string_view() : value;
}
[[nodiscard]] inline bool expected_unseen(std::string_view function) {
  return expected("ALLOCTAP_UNSEEN").find(function) != std::string_view::npos;
}
[[nodiscard]] inline bool realloc_is_seen() { return expected("ALLOCTAP_REALLOC") != "unseen"; }
[[nodiscard]] inline bool misses_something() {
  return !realloc_is_seen() || !expected("ALLOCTAP_UNSEEN").empty();
}

[[nodiscard]] inline bool told_after_fork() { return expected("ALLOCTAP_FORK") != "untold"; }

/// What happened between two moments, on all threads.
struct Difference {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_bytes = 0;
  /// Nothing where frees of unknown blocks cannot be told.
  std::optional<std::uint64_t> unmatched_frees;
};

/// Counts what happens from its construction on. Between that and `so_far` no check may run on this
/// thread: doctest allocates.
class EventCount {
 public:
  EventCount() : start_(now()) {}

  [[nodiscard]] Difference so_far() const {
    const Snapshot end = now();
    Difference difference{
        .allocations = end.totals.allocations - start_.totals.allocations,
        .deallocations = end.totals.deallocations - start_.totals.deallocations,
        .allocated_bytes = end.totals.allocated_bytes - start_.totals.allocated_bytes,
        .live_bytes = end.totals.live_bytes - start_.totals.live_bytes,
        .unmatched_frees = end.account.unmatched_frees};
    if (difference.unmatched_frees) *difference.unmatched_frees -= *start_.account.unmatched_frees;
    return difference;
  }

 private:
  static Snapshot now() {
    absl::StatusOr<Snapshot> snapshot = HookedTracker::snapshot();
    if (!snapshot.ok()) std::abort();
    return *std::move(snapshot);
  }

  Snapshot start_;
};

/// Keeps the compiler from knowing what a pointer is good for.
template <class T>
ALLOCTAP_ALWAYS_INLINE T* escape(T* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

/// What no allocator has.
inline volatile std::size_t too_much = SIZE_MAX / 4;

}  // namespace alloctap::testing
