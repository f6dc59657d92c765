/// What the options of alloctap-run that have a list of values can be.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace alloctap::run {

enum class StackChoice : std::uint8_t { kUnwindTable, kBacktrace, kFramePointer, kNone };
enum class DumpFormat : std::uint8_t {
  kText,
  kJson,
  kFolded,
  kHeaptrack,
  kPprof,
  kDhat,
  kMassif,
  kChromeTrace,
  kSpeedscope,
  kAndroid,
  kHtml,
  kMatrix,
  kMatrixLog,
  kRecord,
};

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
inline constexpr auto kFormatNames = std::to_array<std::string_view>({
    "text",
    "json",
    "folded",
    "heaptrack",
    "pprof",
    "dhat",
    "massif",
    "chrome-trace",
    "speedscope",
    "android",
    "html",
    "matrix",
    "matrix-log",
    "record",
});
inline constexpr std::array<std::string_view, 2> kWriteModeNames{"replace", "append"};
inline constexpr std::array<std::string_view, 3> kLeakNames{"none", "live", "unreachable"};
inline constexpr std::array<std::string_view, 2> kMappingsNames{"on", "off"};

}  // namespace alloctap::run
