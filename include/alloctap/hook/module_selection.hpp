/// Set of loaded modules, chosen by patterns on their paths.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/os/path_pattern.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

struct ModulePattern {
  std::string text;
  os::PathPattern compiled;
  bool leaves_out = false;
};

/// Modules that a pattern or the predicate chooses, minus those that a pattern excludes. With
/// neither it holds all modules, or none if not `selects_by_default`. Constant-initialized; only
/// `clear` frees its memory, so it stays usable until process exit. Control plane; not thread-safe.
class ModuleSelection {
 public:
  using Predicate = bool (*)(std::string_view path);

  constexpr ModuleSelection() noexcept = default;
  explicit constexpr ModuleSelection(bool selects_by_default) noexcept
      : selects_by_default_(selects_by_default) {}
  ModuleSelection(const ModuleSelection&) = delete;
  ModuleSelection& operator=(const ModuleSelection&) = delete;

  /// Chooses modules with a part of the path that matches the POSIX extended regular expression
  /// `pattern`. Returns InvalidArgument if it is malformed; `status` then keeps returning that.
  Status modules_matching(const std::string& pattern) { return add(pattern, false); }

  /// Excludes modules, even if a pattern or the predicate chooses them.
  Status modules_not_matching(const std::string& pattern) { return add(pattern, true); }

  /// Chooses modules for which `predicate` returns true. It is called in the control plane.
  void modules_where(Predicate predicate) {
    const ReentrancyGuard guard;
    rules().predicate = predicate;
  }

  /// Removes all patterns, the predicate and the error.
  void clear() {
    const ReentrancyGuard guard;
    delete std::exchange(rules_, nullptr);
  }

  /// Returns the first error of the functions above.
  [[nodiscard]] Status status() const { return rules_ == nullptr ? Status() : rules_->status; }

  /// Returns true if the set holds the module. `path` is the path of its file; `name` is what the
  /// loader was asked for, perhaps a symbolic link.
  [[nodiscard]] bool selects(const std::string& path, const std::string& name) const;

  [[nodiscard]] static bool matches(const ModulePattern& pattern, const std::string& path,
                                    const std::string& name);

  [[nodiscard]] const std::vector<ModulePattern>& patterns() const {
    static constexpr std::vector<ModulePattern> kNone;
    return rules_ == nullptr ? kNone : rules_->patterns;
  }

 private:
  struct Rules {
    std::vector<ModulePattern> patterns;
    Predicate predicate = nullptr;
    Status status;
  };

  Rules& rules() {
    if (rules_ == nullptr) rules_ = new Rules;
    return *rules_;
  }

  /// Returns true if nothing but exclusions was given and all modules are chosen by default.
  [[nodiscard]] bool chooses_nothing() const;

  Status add(const std::string& pattern, bool leaves_out);

  Rules* rules_ = nullptr;
  bool selects_by_default_ = true;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/module_selection.hpp"
#endif
