/// What the options of alloctap-run that have a list of values can be.
#pragma once

#include <alloctap/dump/dump_formats.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace alloctap::run {

enum class StackChoice : std::uint8_t { kUnwindTable, kBacktrace, kFramePointer, kNone };

/// A row of `kDumpFormats`; that of a policy is `format_of<Policy>`.
enum class DumpFormat : std::uint8_t {};

template <class Policy>
inline constexpr DumpFormat format_of = [] {
  DumpFormat found{kDumpFormatCount};
  for_each_dump_format([&]<class Row>(const Row&, std::size_t index) {
    if constexpr (std::is_same_v<typename Row::Policy, Policy>) found = DumpFormat(index);
  });
  return found;
}();

/// What counts as a leak.
enum class LeakChoice : std::uint8_t {
  kNone,
  /// Whatever is live.
  kLive,
  /// What of it the program cannot reach.
  kUnreachable,
};

/// Where a line may say that children were not tracked.
enum class ChildrenHint : std::uint8_t {
  /// Behind a report on standard error.
  kWithReport,
  /// There also if reports go elsewhere.
  kAlways,
  /// Nowhere: alloctap-run's process had children before, which are not the program's.
  kNever,
};

/// How a dump reaches its path.
enum class WriteMode : std::uint8_t {
  /// Through a temporary file beside it that is renamed.
  kReplace,
  /// By opening what is there, with O_APPEND: a device, a pipe, whatever a /proc/self/fd/N leads
  /// to. Nothing may be created, emptied or renamed.
  kAppend,
};

/// The names on the command line and in the variable, in the order of the enumerators.
inline constexpr std::array<std::string_view, 4> kStackNames{"unwind-table", "backtrace",
                                                             "frame-pointer", "none"};
inline constexpr auto kFormatNames = [] {
  std::array<std::string_view, kDumpFormatCount> names;
  for_each_dump_format([&](const auto& row, std::size_t index) { names[index] = row.name; });
  return names;
}();
inline constexpr std::array<std::string_view, 2> kWriteModeNames{"replace", "append"};
inline constexpr std::array<std::string_view, 3> kLeakNames{"none", "live", "unreachable"};
inline constexpr std::array<std::string_view, 2> kMappingsNames{"on", "off"};

}  // namespace alloctap::run
