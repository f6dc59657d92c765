/// The settings of the checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/check/misuse_kinds.hpp"

namespace alloctap {

/// The edge of a block that is adjacent to a guard page.
enum class PageEdge : std::uint8_t { kRight, kLeft, kRandom };

/// Which checks are on. Sizes are in bytes; 0 turns a check off.
struct CheckSettings {
  /// Means whole blocks.
  static constexpr std::size_t kAllBytes = SIZE_MAX;

  bool operator==(const CheckSettings&) const = default;

  /// Returns whether any check other than `guard_pages` concerns every block or every call.
  [[nodiscard]] constexpr bool touches_all() const noexcept {
    return blocks || strings || (front_guard | rear_guard | expand | fill_on_allocate) != 0;
  }

  /// Whether each block has a record until some time after its free. Finds double frees and frees
  /// of addresses inside blocks. All checks below need it, except `expand` and `fill_on_allocate`.
  bool blocks = false;
  /// Whether the deallocation call must match the allocation call.
  bool kinds = false;
  /// Whether a free of an unknown address is a fault. Requires a hook that sees every module's
  /// allocations from process start, or one that asks the allocator about older blocks.
  bool unknown_pointers = false;
  /// Whether calls of string and memory functions are checked.
  bool strings = false;
  std::size_t front_guard = 0;
  std::size_t rear_guard = 0;
  /// Usable bytes behind each block beyond those requested.
  std::size_t expand = 0;
  std::size_t fill_on_allocate = 0;
  std::size_t fill_on_free = 0;
  /// Bounds of the quarantine: blocks, and bytes.
  std::uint32_t quarantine_blocks = 0;
  std::size_t quarantine_bytes = std::size_t{256} << 20;
  /// Freed blocks whose history is kept beyond the quarantine, to report who freed them.
  std::uint32_t remembered_frees = 16384;
  /// Places one in this many blocks beside a guard page until some time after its free. 1 means
  /// every block while the pool has room, 0 means off. Such blocks need no other setting and have
  /// no other red zones.
  std::uint32_t guard_pages = 0;
  PageEdge guard_edge = PageEdge::kRight;
  /// Whether a thread continues after it touched a guard page, once that was reported. Otherwise
  /// the fault goes to the previous handler, or ends the process.
  bool outlives_faults = false;
  /// The first fault in this set raises SIGABRT after the report.
  MisuseKinds abort_on;
};

}  // namespace alloctap
