/// The settings of the checks, and statistics of guard pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/check/misuse.hpp"

namespace alloctap {

// The settings of the checks.

/// The edge of a block that is adjacent to a guard page.
enum class PageEdge : std::uint8_t { kRight, kLeft, kRandom };

/// Which checks are on. Sizes are in bytes; 0 turns a check off.
struct CheckSettings {
  /// A number of bytes that means the whole block.
  static constexpr std::size_t kAllBytes = SIZE_MAX;

  bool operator==(const CheckSettings&) const = default;

  /// Returns whether a check other than `guard_pages` applies to every block or every call.
  [[nodiscard]] constexpr bool touches_all() const noexcept {
    return blocks || strings || (front_guard | rear_guard | expand | fill_on_allocate) != 0;
  }

  /// Whether each block has a record, which is kept for some time after the free. Finds double
  /// frees and frees of addresses inside blocks. All settings below except `expand` and
  /// `fill_on_allocate` require it.
  bool blocks = false;
  /// Whether the deallocation call must match the allocation call.
  bool kinds = false;
  /// Whether a free of an unknown address is a fault. The hook must see the allocations of all
  /// modules from process start on, or ask the allocator whether it owns the address.
  bool unknown_pointers = false;
  /// Whether calls of string and memory functions are checked.
  bool strings = false;
  std::size_t front_guard = 0;
  std::size_t rear_guard = 0;
  /// Bytes by which each block is extended, which the program may use.
  std::size_t expand = 0;
  std::size_t fill_on_allocate = 0;
  std::size_t fill_on_free = 0;
  /// Upper limits of the quarantine: number of blocks, and bytes.
  std::uint32_t quarantine_blocks = 0;
  std::size_t quarantine_bytes = std::size_t{256} << 20;
  /// Number of freed blocks whose history is kept after the quarantine, to report who freed them.
  std::uint32_t remembered_frees = 16384;
  /// Places one in this many blocks beside a guard page. 0 means off. 1 means every block while the
  /// pool has room. A block's pages stay inaccessible for some time after its free. Blocks beside
  /// guard pages need no other setting and have no red zones of `FrontGuard` or `RearGuard`.
  std::uint32_t guard_pages = 0;
  PageEdge guard_edge = PageEdge::kRight;
  /// Whether a thread continues after a reported access to a guard page. If false, the previous
  /// fault handler runs, or the process ends.
  bool outlives_faults = false;
  /// Fault kinds that raise SIGABRT after the report.
  MisuseKinds abort_on;
};

// Lists the checks that a `CheckSettings` enables, under the names of `kCheckOptions`.

/// Calls `visit(std::string_view name, std::uint64_t value)` for each enabled check. `value` is 0
/// if the check has no number or covers whole blocks. May run inside malloc if `visit` may.
template <class Visit>
void for_each_active_check(const CheckSettings& settings, Visit&& visit) {
  const auto visit_number = [&visit](std::string_view name, std::uint64_t value) {
    if (value != 0) visit(name, value == CheckSettings::kAllBytes ? std::uint64_t{0} : value);
  };
  const auto visit_flag = [&visit](std::string_view name, bool is_on) {
    if (is_on) visit(name, std::uint64_t{0});
  };
  visit_number("front_guard", settings.front_guard);
  visit_number("rear_guard", settings.rear_guard);
  visit_number("fill_on_alloc", settings.fill_on_allocate);
  visit_number("fill_on_free", settings.fill_on_free);
  visit_number("expand_alloc", settings.expand);
  visit_number("free_track", settings.quarantine_blocks);
  visit_flag("verify_pointers", settings.unknown_pointers);
  visit_flag("verify_kinds", settings.kinds);
  visit_number("guard_pages", settings.guard_pages);
  visit_flag("string_checks", settings.strings);
}

// Statistics of guard-page placement.

struct GuardPageStats {
  /// The sampling rate: one in this many blocks; 0 if guard pages are off.
  std::uint32_t one_in = 0;
  std::uint64_t placed = 0;
  /// Sampled blocks without guard pages, because the guard-page pool was full.
  std::uint64_t fell_back = 0;
  /// Sampled blocks without guard pages, because `GuardBudget` was exhausted.
  std::uint64_t passed_over = 0;
};

}  // namespace alloctap
