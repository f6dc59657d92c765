/// Which modules a backend is to hook.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/os/path_pattern.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// One pattern of a selection.
struct ModulePattern {
  std::string text;
  os::PathPattern compiled;
  bool leaves_out = false;
};

/// A set of modules, told by their paths: those that some pattern or the predicate chooses (all,
/// where there is neither), without those that a pattern leaves out. Constant-initialized; what it
/// holds is freed by `clear` alone, so it may be used until the process ends. Control plane; not
/// thread-safe.
class ModuleSelection {
 public:
  using Predicate = bool (*)(std::string_view path);

  constexpr ModuleSelection() noexcept = default;
  explicit constexpr ModuleSelection(bool selects_by_default) noexcept
      : selects_by_default_(selects_by_default) {}
  ModuleSelection(const ModuleSelection&) = delete;
  ModuleSelection& operator=(const ModuleSelection&) = delete;

  /// Chooses modules of whose path some part matches `pattern`, a POSIX extended regular
  /// expression. InvalidArgument, which `status` goes on to tell, where it is none.
  Status modules_matching(const std::string& pattern) { return add(pattern, false); }

  /// Leaves modules out, whatever else chooses them.
  Status modules_not_matching(const std::string& pattern) { return add(pattern, true); }

  /// Chooses modules for which `predicate`, called in the control plane, is true.
  void modules_where(Predicate predicate) {
    const ReentrancyGuard guard;
    rules().predicate = predicate;
  }

  /// As it was made.
  void clear() {
    const ReentrancyGuard guard;
    delete std::exchange(rules_, nullptr);
  }

  /// The first error of those that were given.
  [[nodiscard]] Status status() const { return rules_ == nullptr ? Status() : rules_->status; }

  /// Whether the module is one of the set. It is known by two names: where its file is, and what
  /// the loader was asked for, which may be a link to it.
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

  /// Whether all modules are meant that no pattern leaves out.
  [[nodiscard]] bool chooses_nothing() const;

  Status add(const std::string& pattern, bool leaves_out);

  Rules* rules_ = nullptr;
  bool selects_by_default_ = true;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/module_selection.hpp"
#endif
