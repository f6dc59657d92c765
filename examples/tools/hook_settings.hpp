/// How alloctap-run sees the calls of a program.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::run {

/// What the launcher knows of a choice; in the order of the enumerators.
struct HookDescription {
  std::string_view name;
  /// Whether the preloaded object shows the program a malloc.
  bool exports_malloc = false;
  /// Whether modules can be chosen.
  bool chooses_modules = false;
  /// Whether blocks can be checked.
  bool checks_blocks = false;
  /// Whether it can put blocks beside guard pages.
  bool uses_guard_pages = false;
  /// Whether functions of strings can be checked, too.
  bool checks_strings = false;
  /// A library that has to be in front of the C library's malloc; empty: none.
  std::string_view needed_library = {};
};

}  // namespace alloctap::run

#if defined(_WIN32)
#include "windows/hook_choices.hpp"
#else
#include "posix/hook_choices.hpp"
#endif

namespace alloctap::run {

/// The names on the command line and in the variable.
inline constexpr auto kHookNames = [] {
  std::array<std::string_view, kHooks.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kHooks[i].name;
  return names;
}();

[[nodiscard]] constexpr const HookDescription& description_of(HookChoice hook) noexcept {
  return kHooks[static_cast<std::size_t>(hook)];
}

inline constexpr std::size_t kMaxModulePatterns = 16;
inline constexpr std::size_t kLongestModulePattern = 1024;

/// Whether some choice can be told modules.
inline constexpr bool kSomeHookChoosesModules = std::any_of(
    kHooks.begin(), kHooks.end(), [](const HookDescription& hook) { return hook.chooses_modules; });

/// Whether some choice can put blocks beside guard pages.
inline constexpr bool kSomeHookPlacesBlocks =
    std::any_of(kHooks.begin(), kHooks.end(),
                [](const HookDescription& hook) { return hook.uses_guard_pages; });

/// Whether some choice can check blocks.
inline constexpr bool kSomeHookChecksBlocks = std::any_of(
    kHooks.begin(), kHooks.end(), [](const HookDescription& hook) { return hook.checks_blocks; });

/// Whether some choice can check functions of strings.
inline constexpr bool kSomeHookChecksStrings = std::any_of(
    kHooks.begin(), kHooks.end(), [](const HookDescription& hook) { return hook.checks_strings; });

/// The one that can check blocks; there is one on each system.
inline constexpr std::string_view kCheckingHook =
    std::find_if(kHooks.begin(), kHooks.end(), [](const HookDescription& hook) {
      return hook.checks_blocks;
    })->name;

/// A POSIX extended regular expression for paths of modules.
struct ModulePatternSetting {
  std::string_view text;
  bool leaves_out = false;
};

struct HookSettings {
  HookChoice choice = kDefaultHook;
  /// Whether mmap and its relatives are recorded.
  bool mappings = true;
  std::size_t pattern_count = 0;
  std::array<ModulePatternSetting, kMaxModulePatterns> patterns{};

  [[nodiscard]] std::span<const ModulePatternSetting> module_patterns() const noexcept {
    return std::span(patterns).first(pattern_count);
  }
};

}  // namespace alloctap::run
