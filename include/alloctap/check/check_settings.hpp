/// What is checked, and how much of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/check/misuse_kinds.hpp"

namespace alloctap {

/// On which side of a block an inaccessible page begins at once.
enum class PageEdge : std::uint8_t { kRight, kLeft, kRandom };

/// Sizes in bytes; 0 means off.
struct CheckSettings {
  /// Whole blocks.
  static constexpr std::size_t kAllBytes = SIZE_MAX;

  bool operator==(const CheckSettings&) const = default;

  /// Whether anything but `guard_pages` has to do with every block, or with every call.
  [[nodiscard]] constexpr bool touches_all() const noexcept {
    return blocks || strings || (front_guard | rear_guard | expand | fill_on_allocate) != 0;
  }

  /// Whether each block is remembered until it goes and for some time after: all below but `expand`
  /// and `fill_on_allocate` need it. What is given back twice, or is no block, is found then.
  bool blocks = false;
  /// Whether what gives a block back must fit what it came from.
  bool kinds = false;
  /// Whether a free of an unknown address is a fault. Only where every block is known, from the
  /// first call of the process on, of every module; or where the hook asks the allocator of others.
  bool unknown_pointers = false;
  /// Whether functions of strings and of memory are checked.
  bool strings = false;
  std::size_t front_guard = 0;
  std::size_t rear_guard = 0;
  /// Bytes behind each block that the program may use without having asked for them.
  std::size_t expand = 0;
  std::size_t fill_on_allocate = 0;
  std::size_t fill_on_free = 0;
  /// How many freed blocks are kept from the allocator, and how many bytes of them at most.
  std::uint32_t quarantine_blocks = 0;
  std::size_t quarantine_bytes = std::size_t{256} << 20;
  /// How many freed blocks are remembered beyond that, to tell who freed them.
  std::uint32_t remembered_frees = 16384;
  /// One in so many blocks stands beside an inaccessible page, and is one when it was freed; 1:
  /// each that there is room for, 0: none. These need none of what is above, and have no other
  /// guards.
  std::uint32_t guard_pages = 0;
  PageEdge guard_edge = PageEdge::kRight;
  /// Whether a thread that touches such a page goes on as if it might, once that was told of. Else
  /// the fault is left to the handler that was there, or ends the process.
  bool outlives_faults = false;
  /// The first fault of these kinds ends the process, by SIGABRT, once it has been told of.
  MisuseKinds abort_on;
};

}  // namespace alloctap
