/// Settings of the checks, the options that set them by name, and statistics of guard pages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/check/misuse.hpp"

namespace alloctap {

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
  /// frees and frees of addresses inside blocks. Required by the settings from `kinds` to
  /// `remembered_frees`, except `expand` and `fill_on_allocate`.
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

/// Calls `visit(std::string_view name, std::uint64_t value)` for each enabled check. `name` is one
/// of `kCheckOptions`. `value` is 0 if the check has no number or covers whole blocks. May run
/// inside malloc if `visit` may.
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

/// Statistics of guard-page placement.
struct GuardPageStats {
  /// The sampling rate: one in this many blocks; 0 if guard pages are off.
  std::uint32_t one_in = 0;
  std::uint64_t placed = 0;
  /// Sampled blocks without guard pages, because the guard-page pool was full.
  std::uint64_t fell_back = 0;
  /// Sampled blocks without guard pages, because `GuardBudget` was exhausted.
  std::uint64_t passed_over = 0;
};

/// An option of ALLOCTAP_OPTIONS. An option that Android's malloc_debug also has uses
/// malloc_debug's default and range (bionic, libc/malloc_debug/README.md).
struct CheckOption {
  enum class Value : std::uint8_t {
    /// The option has no value: `name`.
    kNone,
    /// The option has an optional number: `name` (means `preset`) or `name=NUMBER`.
    kNumber,
    /// The option has optional fault kinds: `name` (means all) or `name=KIND+KIND...` (`key_of`).
    kKinds,
  };

  std::string_view name;
  Value value = Value::kNone;
  /// The default of a `kNumber` option, and the inclusive range of its values.
  std::uint64_t preset = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  /// Applies the option to `settings`. nullptr if every tracker has the feature anyway, and for a
  /// `kKinds` option, whose value becomes `CheckSettings::abort_on`.
  void (*apply)(CheckSettings& settings, std::uint64_t number) = nullptr;
};

/// An option of malloc_debug that alloctap does not support, and what to use instead.
struct AbsentCheckOption {
  std::string_view name;
  std::string_view alias;
  std::string_view why;
};

namespace check_options {

using Settings = CheckSettings;
using Number = std::uint64_t;

inline void front_guard(Settings& settings, Number bytes) {
  settings.blocks = true;
  settings.front_guard = bytes;
}
inline void rear_guard(Settings& settings, Number bytes) {
  settings.blocks = true;
  settings.rear_guard = bytes;
}
inline void guard(Settings& settings, Number bytes) {
  front_guard(settings, bytes);
  rear_guard(settings, bytes);
}
inline void fill_on_alloc(Settings& settings, Number bytes) { settings.fill_on_allocate = bytes; }
inline void fill_on_free(Settings& settings, Number bytes) {
  settings.blocks = true;
  settings.fill_on_free = bytes;
}
inline void fill(Settings& settings, Number bytes) {
  fill_on_alloc(settings, bytes);
  fill_on_free(settings, bytes);
}
inline void expand_alloc(Settings& settings, Number bytes) { settings.expand = bytes; }
inline void free_track(Settings& settings, Number blocks) {
  settings.blocks = true;
  settings.quarantine_blocks = static_cast<std::uint32_t>(blocks);
  if (settings.fill_on_free == 0) settings.fill_on_free = Settings::kAllBytes;
}
inline void verify_pointers(Settings& settings, Number) {
  settings.blocks = true;
  settings.unknown_pointers = true;
}
inline void verify_kinds(Settings& settings, Number) {
  settings.blocks = true;
  settings.kinds = true;
}
inline void guard_pages(Settings& settings, Number one_in) {
  settings.guard_pages = static_cast<std::uint32_t>(one_in);
}
inline void guard_pages_left(Settings& settings, Number) { settings.guard_edge = PageEdge::kLeft; }
inline void guard_pages_random(Settings& settings, Number) {
  settings.guard_edge = PageEdge::kRandom;
}
inline void outlive_faults(Settings& settings, Number) { settings.outlives_faults = true; }
inline void string_checks(Settings& settings, Number) {
  settings.blocks = true;
  settings.strings = true;
}
inline void level5(Settings& settings, Number) { fill(settings, Settings::kAllBytes); }
inline void level10(Settings& settings, Number) {
  verify_kinds(settings, 0);
  verify_pointers(settings, 0);
  guard(settings, 32);
  fill_on_free(settings, Settings::kAllBytes);
  free_track(settings, 100);
}

inline constexpr std::uint64_t kMaxBytes = 16384;
inline constexpr std::uint64_t kRarestGuardPage = 1'000'000'000;
inline constexpr auto kNumber = CheckOption::Value::kNumber;
inline constexpr auto kNone = CheckOption::Value::kNone;
inline constexpr auto kKinds = CheckOption::Value::kKinds;

}  // namespace check_options

inline constexpr auto kCheckOptions = std::to_array<CheckOption>({
    {"front_guard", check_options::kNumber, 32, 1, check_options::kMaxBytes,
     &check_options::front_guard},
    {"rear_guard", check_options::kNumber, 32, 1, check_options::kMaxBytes,
     &check_options::rear_guard},
    {"guard", check_options::kNumber, 32, 1, check_options::kMaxBytes, &check_options::guard},
    {"fill_on_alloc", check_options::kNumber, SIZE_MAX, 1, SIZE_MAX, &check_options::fill_on_alloc},
    {"fill_on_free", check_options::kNumber, SIZE_MAX, 1, SIZE_MAX, &check_options::fill_on_free},
    {"fill", check_options::kNumber, SIZE_MAX, 1, SIZE_MAX, &check_options::fill},
    {"expand_alloc", check_options::kNumber, 16, 1, check_options::kMaxBytes,
     &check_options::expand_alloc},
    {"free_track", check_options::kNumber, 100, 1, 16384, &check_options::free_track},
    {"free_track_backtrace_num_frames", check_options::kNumber, 16, 0, 256, nullptr},
    {"verify_pointers", check_options::kNone, 0, 0, 0, &check_options::verify_pointers},
    {"verify_kinds", check_options::kNone, 0, 0, 0, &check_options::verify_kinds},
    {"guard_pages", check_options::kNumber, 1, 1, check_options::kRarestGuardPage,
     &check_options::guard_pages},
    {"guard_pages_left", check_options::kNone, 0, 0, 0, &check_options::guard_pages_left},
    {"guard_pages_random", check_options::kNone, 0, 0, 0, &check_options::guard_pages_random},
    {"outlive_faults", check_options::kNone, 0, 0, 0, &check_options::outlive_faults},
    {"string_checks", check_options::kNone, 0, 0, 0, &check_options::string_checks},
    {"abort_on_error", check_options::kKinds, 0, 0, 0, nullptr},
    {"backtrace", check_options::kNumber, 16, 1, 256, nullptr},
    {"bt", check_options::kNumber, 16, 1, 256, nullptr},
    {"leak_track", check_options::kNone, 0, 0, 0, nullptr},
    {"verbose", check_options::kNone, 0, 0, 0, nullptr},
    {"level1", check_options::kNone, 0, 0, 0, nullptr},
    {"level5", check_options::kNone, 0, 0, 0, &check_options::level5},
    {"level10", check_options::kNone, 0, 0, 0, &check_options::level10},
});

inline constexpr auto kAbsentCheckOptions = std::to_array<AbsentCheckOption>({
    {"backtrace_enable_on_signal", "bt_en_on_sig",
     "stacks are always taken; record from a point on by starting the session there"},
    {"backtrace_dump_on_exit", "bt_dmp_on_ex", "dump in the format android"},
    {"backtrace_dump_prefix", "bt_dmp_pre", "give the dump a path"},
    {"backtrace_min_size", "bt_min_sz", "use SizeRange, or alloctap-run --min-size"},
    {"backtrace_max_size", "bt_max_sz", "use SizeRange, or alloctap-run --max-size"},
    {"backtrace_size", "bt_sz", "use SizeRange, or alloctap-run --min-size and --max-size"},
    {"backtrace_full", "bt_full", "it is of Android alone: there are no Java frames here"},
    {"record_allocs", "", "use LoggingQueue, or alloctap-run --events"},
    {"record_allocs_file", "", "give the dump a path"},
    {"record_allocs_on_exit", "", "a dump at the end has all events"},
    {"check_unreachable_on_signal", "", "ask for unreachable blocks where leaks are asked for"},
    {"log_allocator_stats_on_signal", "", "it is of Android alone: its allocator's own numbers"},
    {"log_allocator_stats_on_exit", "", "it is of Android alone: its allocator's own numbers"},
});

}  // namespace alloctap
