/// What alloctap-run tells the object that it preloads: one environment variable.
///
/// The value reads
/// `alloctap-run/7;ROOT_PID;FOLLOW;STACK;MAX_FRAMES;MEAN_BYTES;MIN_SIZE;MAX_SIZE;EVENT_BYTES;`
/// `TAGS;INTERVAL_NS;THRESHOLD;SIGNAL;LENGTH;CHECKS;ERROR_CODE;DUMPS;` and then,
/// for each dump, `FORMAT;WRITE_MODE;LENGTH;PATH;`, then `LEAKS;FILES;` and, for each file of
/// suppressions, `LENGTH;PATH;`, then `HOOK;MAPPINGS;PATTERNS;` and, for each pattern for modules,
/// `LEAVES_OUT;LENGTH;PATTERN;`. Every field ends in ';' and a path is counted,
/// so that any byte may stand in it and a value that was cut short is noticed. FOLLOW is 1 where
/// children are tracked, or 0, "hint" or "quiet" for a `ChildrenHint`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "alloctap/runtime/thread_state.hpp"
#include "dump_signals.hpp"
#include "field_reader.hpp"
#include "hook_settings.hpp"
#include "path_pattern.hpp"
#include "setting_choices.hpp"

namespace alloctap::run {

inline constexpr char kSettingsVariable[] = "ALLOCTAP_RUN";
inline constexpr char kPreloadVariable[] = "LD_PRELOAD";
/// The user's own LD_PRELOAD; not set if the user had none. Its name ends in "LD_PRELOAD".
inline constexpr char kUsersPreloadVariable[] = "ALLOCTAP_RUN_LD_PRELOAD";
inline constexpr std::string_view kSettingsVersion = "alloctap-run/7";

inline constexpr std::uint32_t kMaxFrames = ThreadState::kMaxFrames;
inline constexpr std::uint32_t kDefaultFrames = 256;
/// Samples further apart would never be seen; and so far apart, weights of samples are exact.
inline constexpr std::uint64_t kMaxMeanBytes = std::uint64_t{1} << 40;
/// A year.
inline constexpr std::int64_t kLongestInterval = 31'536'000'000'000'000;
inline constexpr std::size_t kMaxDumps = 16;
/// The number of a process's first dump, in `expand_path`.
inline constexpr std::uint32_t kFirstDump = 1;
inline constexpr std::size_t kMaxSuppressionFiles = 16;
/// No file of suppressions is longer.
inline constexpr std::size_t kMaxSuppressionBytes = 1 << 20;
/// No list of checks is longer.
inline constexpr std::size_t kMaxCheckBytes = 1024;
/// No encoded settings are longer.
inline constexpr std::size_t kMaxEncodedBytes =
    256 + kMaxCheckBytes + (kMaxDumps + kMaxSuppressionFiles) * (kPathBytes + 64) +
    kMaxModulePatterns * (kLongestModulePattern + 16);
/// The most that a process can tell of its end.
inline constexpr std::int32_t kMaxErrorExitCode = 255;
/// By how many bytes the name of a temporary file may exceed the name of the dump that it stands
/// beside: the launcher has tried that such a name can be created.
inline constexpr std::size_t kTemporarySuffixBytes = 24;

struct DumpTarget {
  DumpFormat format = format_of<TextDump>;
  WriteMode mode = WriteMode::kReplace;
  /// An absolute path for `expand_path`.
  std::string_view pattern;
};

struct Settings {
  /// The process that the user asked for; its children are tracked only with `follow_children`.
  std::int32_t root_pid = 0;
  bool follow_children = false;
  /// If children are not followed.
  ChildrenHint children_hint = ChildrenHint::kWithReport;
  StackChoice stack = StackChoice::kUnwindTable;
  std::uint32_t max_frames = kDefaultFrames;
  /// About how many allocated bytes lie between two samples; 0 and 1: every allocation is recorded.
  std::uint64_t mean_bytes = 0;
  /// Stacks are taken of blocks of these sizes; `min_size` is not above `max_size`.
  std::uint64_t min_size = 0;
  std::uint64_t max_size = UINT64_MAX;
  /// The most memory for a log of all events; 0: there is none.
  std::uint64_t event_bytes = 0;
  /// Whether is counted by what the program says of itself (alloctap/annotate.h).
  bool tags = false;
  /// Between two dumps while the program runs, in nanoseconds; 0: there are none.
  std::int64_t interval_ns = 0;
  /// By how much what is live grows from one dump to the next; 0: growth makes no dump.
  std::uint64_t threshold_bytes = 0;
  /// The signal that asks for a dump, one of `kDumpSignals`; 0: none does.
  std::int32_t dump_signal = 0;
  /// As `parse_check_options` reads them; empty: nothing is checked.
  std::string_view checks{};
  /// What the program ends with where checks found something; 0: with what it would have.
  std::int32_t error_exit_code = 0;
  std::size_t dump_count = 0;
  std::array<DumpTarget, kMaxDumps> dumps{};
  /// What reports show of leaks.
  LeakChoice leaks = LeakChoice::kNone;
  std::size_t suppression_count = 0;
  /// Absolute paths.
  std::array<std::string_view, kMaxSuppressionFiles> suppressions{};
  HookSettings hook{};

  [[nodiscard]] std::span<const DumpTarget> targets() const noexcept {
    return std::span(dumps).first(dump_count);
  }
  [[nodiscard]] std::span<const std::string_view> suppression_files() const noexcept {
    return std::span(suppressions).first(suppression_count);
  }
  /// Whether some blocks are left out, or have no stacks.
  [[nodiscard]] bool chooses_blocks() const noexcept {
    return mean_bytes > 1 || min_size > 0 || max_size < UINT64_MAX;
  }
  [[nodiscard]] bool apply_to(std::int32_t pid) const noexcept {
    return follow_children || pid == root_pid;
  }
};

/// In the order of the enumerators.
inline constexpr std::array<std::string_view, 3> kChildrenHintNames{"0", "hint", "quiet"};

template <class Enum, std::size_t Count>
[[nodiscard]] constexpr std::string_view name_of(const std::array<std::string_view, Count>& names,
                                                 Enum value) noexcept {
  return names[static_cast<std::size_t>(value)];
}

/// "one, two, three".
[[nodiscard]] inline std::string list_of(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// The value of the variable. At most `kMaxDumps` dumps with patterns up to `kPathBytes` long, and
/// as many files of suppressions.
[[nodiscard]] inline std::string encode(const Settings& settings) {
  std::string text;
  const auto add = [&text](std::string_view field) { text.append(field).push_back(';'); };
  add(kSettingsVersion);
  add(std::to_string(settings.root_pid));
  add(settings.follow_children ? "1" : name_of(kChildrenHintNames, settings.children_hint));
  add(name_of(kStackNames, settings.stack));
  add(std::to_string(settings.max_frames));
  add(std::to_string(settings.mean_bytes));
  add(std::to_string(settings.min_size));
  add(std::to_string(settings.max_size));
  add(std::to_string(settings.event_bytes));
  add(settings.tags ? "1" : "0");
  add(std::to_string(settings.interval_ns));
  add(std::to_string(settings.threshold_bytes));
  add(std::to_string(settings.dump_signal));
  add(std::to_string(settings.checks.size()));
  add(settings.checks);
  add(std::to_string(settings.error_exit_code));
  add(std::to_string(settings.dump_count));
  for (const DumpTarget& dump : settings.targets()) {
    add(name_of(kFormatNames, dump.format));
    add(name_of(kWriteModeNames, dump.mode));
    add(std::to_string(dump.pattern.size()));
    add(dump.pattern);
  }
  add(name_of(kLeakNames, settings.leaks));
  add(std::to_string(settings.suppression_count));
  for (const std::string_view path : settings.suppression_files()) {
    add(std::to_string(path.size()));
    add(path);
  }
  add(name_of(kHookNames, settings.hook.choice));
  add(settings.hook.mappings ? "1" : "0");
  add(std::to_string(settings.hook.pattern_count));
  for (const ModulePatternSetting& pattern : settings.hook.module_patterns()) {
    add(pattern.leaves_out ? "1" : "0");
    add(std::to_string(pattern.text.size()));
    add(pattern.text);
  }
  return text;
}

[[nodiscard]] inline bool read_flag(FieldReader& reader, bool& flag) noexcept {
  std::uint32_t number = 0;
  const bool read = reader.read_number(number, 0u, 1u);
  flag = number == 1;
  return read;
}

[[nodiscard]] inline bool read_path(FieldReader& reader, std::string_view& path) noexcept {
  std::size_t length = 0;
  return reader.read_number(length, std::size_t{1}, kPathBytes) &&
         reader.read_counted(length, path) && is_absolute(path);
}

[[nodiscard]] inline bool read_suppressions(FieldReader& reader, Settings& settings) noexcept {
  if (!reader.read_name(kLeakNames, settings.leaks) ||
      !reader.read_number(settings.suppression_count, std::size_t{0}, kMaxSuppressionFiles)) {
    return false;
  }
  for (std::string_view& path :
       std::span(settings.suppressions).first(settings.suppression_count)) {
    if (!read_path(reader, path)) return false;
  }
  return true;
}

[[nodiscard]] inline bool read_following(FieldReader& reader, Settings& settings) noexcept {
  std::string_view field;
  if (!reader.read(field)) return false;
  settings.follow_children = field == "1";
  return settings.follow_children || find_name(kChildrenHintNames, field, settings.children_hint);
}

[[nodiscard]] inline bool read_hook(FieldReader& reader, HookSettings& hook) noexcept {
  if (!reader.read_name(kHookNames, hook.choice) || !read_flag(reader, hook.mappings) ||
      !reader.read_number(hook.pattern_count, std::size_t{0}, kMaxModulePatterns)) {
    return false;
  }
  for (ModulePatternSetting& pattern : std::span(hook.patterns).first(hook.pattern_count)) {
    std::size_t length = 0;
    if (!read_flag(reader, pattern.leaves_out) ||
        !reader.read_number(length, std::size_t{1}, kLongestModulePattern) ||
        !reader.read_counted(length, pattern.text)) {
      return false;
    }
  }
  return true;
}

[[nodiscard]] inline bool read_dump(FieldReader& reader, DumpTarget& dump) noexcept {
  return reader.read_name(kFormatNames, dump.format) &&
         reader.read_name(kWriteModeNames, dump.mode) && read_path(reader, dump.pattern);
}

[[nodiscard]] inline bool read_sampling(FieldReader& reader, Settings& settings) noexcept {
  constexpr std::uint64_t kNone = 0;
  return reader.read_number(settings.mean_bytes, kNone, kMaxMeanBytes) &&
         reader.read_number(settings.min_size, kNone, UINT64_MAX) &&
         reader.read_number(settings.max_size, settings.min_size, UINT64_MAX) &&
         reader.read_number(settings.event_bytes, kNone, UINT64_MAX) &&
         read_flag(reader, settings.tags);
}

[[nodiscard]] inline bool read_triggers(FieldReader& reader, Settings& settings) noexcept {
  constexpr std::int64_t kNoInterval = 0;
  constexpr std::uint64_t kNoThreshold = 0;
  return reader.read_number(settings.interval_ns, kNoInterval, kLongestInterval) &&
         reader.read_number(settings.threshold_bytes, kNoThreshold, UINT64_MAX) &&
         reader.read_number(settings.dump_signal, 0, INT32_MAX) &&
         (settings.dump_signal == 0 || !name_of_dump_signal(settings.dump_signal).empty());
}

[[nodiscard]] inline bool read_checks(FieldReader& reader, Settings& settings) noexcept {
  std::size_t length = 0;
  return reader.read_number(length, std::size_t{0}, kMaxCheckBytes) &&
         reader.read_counted(length, settings.checks) &&
         reader.read_number(settings.error_exit_code, 0, kMaxErrorExitCode);
}

/// Reads what `encode` wrote; nothing where `text` is anything else. The patterns point into
/// `text`. Allocates nothing.
[[nodiscard]] inline std::optional<Settings> decode(std::string_view text) noexcept {
  Settings settings;
  FieldReader reader(text);
  std::string_view version;
  const bool head_is_sound =
      reader.read(version) && version == kSettingsVersion &&
      reader.read_number(settings.root_pid, 1, INT32_MAX) && read_following(reader, settings) &&
      reader.read_name(kStackNames, settings.stack) &&
      reader.read_number(settings.max_frames, 1u, kMaxFrames) && read_sampling(reader, settings) &&
      read_triggers(reader, settings) && read_checks(reader, settings) &&
      reader.read_number(settings.dump_count, std::size_t{0}, kMaxDumps);
  if (!head_is_sound) return std::nullopt;
  for (DumpTarget& dump : std::span(settings.dumps).first(settings.dump_count)) {
    if (!read_dump(reader, dump)) return std::nullopt;
  }
  if (!read_suppressions(reader, settings) || !read_hook(reader, settings.hook)) {
    return std::nullopt;
  }
  return reader.at_end() ? std::optional(settings) : std::nullopt;
}

}  // namespace alloctap::run
