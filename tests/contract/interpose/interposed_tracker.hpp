/// The tracker that stands behind malloc in these programs.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/stack/no_stack.hpp"
#include "alloctap/tracker.hpp"

namespace alloctap::testing {

struct InterposeConfig : DefaultConfig {
  using Hook = InterposeHook;
  using Stack = NoStack;
};
using InterposedTracker = Tracker<InterposeConfig>;

/// What happened between two moments, on all threads.
struct Difference {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t unmatched_frees = 0;
};

/// Counts what happens from its construction on.
class EventCount {
 public:
  EventCount();
  [[nodiscard]] Difference so_far() const;

 private:
  Snapshot start_;
};

/// Keeps the compiler from knowing what a pointer is good for.
template <class T>
ALLOCTAP_ALWAYS_INLINE T* escape(T* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

}  // namespace alloctap::testing
