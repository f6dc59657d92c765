/// Set of loaded modules, chosen by patterns on their paths, and a snapshot of the memory map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/path_pattern.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

struct ModulePattern {
  std::string text;
  os::PathPattern compiled;
  bool leaves_out = false;
};

/// Set of the modules that a pattern or the predicate chooses, minus modules that a pattern
/// excludes. If there is neither a choosing pattern nor a predicate, all modules are chosen, or
/// none if `selects_by_default` is false. Constant-initialized; only `clear` frees its memory, so
/// it stays usable until process exit. Control plane; not thread-safe.
class ModuleSelection {
 public:
  using Predicate = bool (*)(std::string_view path);

  constexpr ModuleSelection() noexcept = default;
  explicit constexpr ModuleSelection(bool selects_by_default) noexcept
      : selects_by_default_(selects_by_default) {}
  ModuleSelection(const ModuleSelection&) = delete;
  ModuleSelection& operator=(const ModuleSelection&) = delete;

  /// Chooses modules if the POSIX extended regular expression `pattern` matches a part of the path
  /// or of the name in the loader's list. Returns InvalidArgument if `pattern` is malformed;
  /// `status` then keeps returning this error.
  Status modules_matching(const std::string& pattern) { return add(pattern, false); }

  /// Excludes modules that match, even if a pattern or the predicate chooses them.
  Status modules_not_matching(const std::string& pattern) { return add(pattern, true); }

  /// Chooses modules for which `predicate`, called in the control plane, returns true.
  void modules_where(Predicate predicate) {
    const ReentrancyGuard guard;
    rules().predicate = predicate;
  }

  /// Removes all patterns, the predicate and the error.
  void clear() {
    const ReentrancyGuard guard;
    delete std::exchange(rules_, nullptr);
  }

  /// Returns the first error of `modules_matching` and `modules_not_matching`.
  [[nodiscard]] Status status() const { return rules_ == nullptr ? Status() : rules_->status; }

  /// Returns true if the set holds the module with the file `path`. `name` is the module's name in
  /// the loader's list, perhaps a symbolic link.
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

  /// Returns true if there is no choosing pattern and all modules are chosen by default.
  [[nodiscard]] bool chooses_nothing() const;

  Status add(const std::string& pattern, bool leaves_out);

  Rules* rules_ = nullptr;
  bool selects_by_default_ = true;
};

/// List of the regions that were mapped at one moment (/proc/self/maps or VirtualQuery), with their
/// protection. Its memory is allocated in the tracker's arena. Move-only.
class MemoryRegions {
 public:
  /// Returns an empty list if the memory map cannot be read, or if out of memory.
  [[nodiscard]] static MemoryRegions read() noexcept;

  /// Returns the region that holds `address`, or nullptr.
  [[nodiscard]] const os::MemoryRegion* find(std::uintptr_t address) const noexcept;

  /// Returns true if all of `[address, address + bytes)` is readable.
  [[nodiscard]] bool is_readable(std::uintptr_t address, std::uint64_t bytes) const noexcept;

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;

  bool add(os::MemoryRegion region) noexcept;

  ArenaArray<os::MemoryRegion> regions_;
  TextPool paths_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/module_selection.hpp"
#endif
