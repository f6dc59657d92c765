/// What the library of tracker_library.cpp and its program know of each other.
#pragma once

#include <cstdint>

namespace alloctap::testing {

/// A tracker that is all inside of the library.
struct LibraryTracker {
  /// Whether it started. Its session ends by `end`, or when the library's static objects do.
  bool (*start)();
  void (*end)();
  /// Allocates and frees a block, and has the tracker see it.
  void (*allocate)();
  /// How many allocations it saw.
  std::uint64_t (*allocations)();
};

/// Exported as "library_tracker"; nullptr for a hook that there is none of.
using GetLibraryTracker = const LibraryTracker*(const char* hook);

}  // namespace alloctap::testing
