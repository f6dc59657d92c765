/// Live memory by module, and by stack in each module.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "alloctap/dump/report.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_module.hpp"

namespace alloctap {

/// The number and bytes of one stack's live blocks, or of its live mappings.
struct HoldingStack {
  StackId stack = kNoStackId;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  /// The module that the memory is attributed to (`module_of`); nullptr if unknown.
  const Module* module = nullptr;
};

/// The number and bytes of one module's live blocks, or of its live mappings.
struct HoldingModule {
  const Module* module = nullptr;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  /// The index of the module's first stack in `ModuleStacks::stacks()`, and its number of stacks.
  std::size_t first = 0;
  std::size_t stacks = 0;

  /// Returns the module's path, or "[unknown]" for code outside all modules and unknown stacks.
  [[nodiscard]] std::string_view name() const noexcept {
    return module == nullptr ? std::string_view("[unknown]") : module->path;
  }
};

/// Stacks that hold live memory, grouped by module. A module that was unloaded and loaded again
/// counts as two. Uses arena memory. The report must outlive this object.
class ModuleStacks {
 public:
  /// Groups `summaries` by module. They are the report's sums of blocks, or of mappings, per stack.
  template <class Summary>
  ModuleStacks(const Report& report, const ArenaArray<Summary>& summaries) noexcept
      : report_(report) {
    for (const Summary& summary : summaries) add(summary);
    sort_by_module();
    sum_up();
    std::sort(modules_.begin(), modules_.end(), [](const HoldingModule& a, const HoldingModule& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first;
    });
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the modules, most bytes first.
  [[nodiscard]] std::span<const HoldingModule> modules() const noexcept {
    return {modules_.data(), modules_.size()};
  }

  /// Returns the stacks of one module, most bytes first.
  [[nodiscard]] std::span<const HoldingStack> stacks_of(
      const HoldingModule& module) const noexcept {
    return stacks().subspan(module.first, module.stacks);
  }

  /// Returns the stacks of all modules, grouped by module.
  [[nodiscard]] std::span<const HoldingStack> stacks() const noexcept {
    return {stacks_.data(), stacks_.size()};
  }

 private:
  static std::uint64_t count(const StackSummary& stack) noexcept { return stack.live_allocations; }
  static std::uint64_t count(const MappingSummary& stack) noexcept { return stack.live_mappings; }

  template <class Summary>
  void add(const Summary& summary) noexcept {
    if (count(summary) == 0) return;
    auto* is_own = &is_runtime_module;
    const Module* module =
        module_of(*report_.snapshot.table, summary.stack, report_.modules, is_own);
    complete_ =
        stacks_.push_back({summary.stack, count(summary), summary.live_bytes, module}) && complete_;
  }

  void sort_by_module() noexcept {
    std::sort(stacks_.begin(), stacks_.end(), [](const HoldingStack& a, const HoldingStack& b) {
      if (a.module != b.module) return std::less<>()(a.module, b.module);
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.stack < b.stack;
    });
  }

  void sum_up() noexcept {
    for (std::size_t i = 0; i < stacks_.size(); ++i) {
      const HoldingStack& stack = stacks_[i];
      if (i == 0 || stack.module != stacks_[i - 1].module) {
        complete_ = modules_.push_back({.module = stack.module, .first = i}) && complete_;
      }
      if (!complete_) return;
      HoldingModule& module = modules_.back();
      module.count += stack.count;
      module.bytes += stack.bytes;
      ++module.stacks;
    }
  }

  const Report& report_;
  ArenaArray<HoldingStack> stacks_;
  ArenaArray<HoldingModule> modules_;
  bool complete_ = true;
};

}  // namespace alloctap
