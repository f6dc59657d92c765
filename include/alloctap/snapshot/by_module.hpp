/// Attributes memory to modules.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// Allocations attributed to one module: all since the start, and the live allocations.
struct ModuleSummary {
  /// The module; nullptr for code outside all modules and for unknown stacks.
  const Module* module = nullptr;
  AllocationTotals total = {};
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// Returns whether the file name of `module` is that of an allocator, the C library, the loader or
/// a C++ runtime. Allocations of such modules are attributed to their callers.
[[nodiscard]] inline bool is_runtime_module(const Module& module) noexcept {
  constexpr std::array<std::string_view, 15> kStarts{
      "libc.so",      "libc-2.",     "libc.musl",   "libstdc++.so", "libc++.so",
      "libc++abi.so", "libgcc_s.",   "ld-linux",    "ld-musl",      "ld-2.",
      "liballoctap",  "libjemalloc", "libtcmalloc", "libmimalloc",  "libsnmalloc"};
  const std::string_view file = module.path.substr(module.path.rfind('/') + 1);
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [file](std::string_view start) { return file.starts_with(start); });
}

/// Returns the module of the innermost frame for which `is_own(const Module&)` returns false. If
/// `is_own` is true for all frames, returns the module of the innermost frame, or nullptr if
/// unknown.
template <class IsOwn>
[[nodiscard]] const Module* module_of(const StackTable& table, StackId stack,
                                      const ModuleTable& modules, IsOwn& is_own) {
  const Module* innermost = nullptr;
  bool first = true;
  for (const std::uintptr_t frame : table.frames(stack)) {
    const Module* module = modules.find(call_address(frame), stack);
    if (module == nullptr || !is_own(*module)) return module;
    if (std::exchange(first, false)) innermost = module;
  }
  return innermost;
}

/// Sums up `snapshot` by the module that `module_of` returns for each stack, most live bytes first.
/// `is_own` is never called for code outside all modules. `modules` (`Tracker::modules`) must
/// outlive the result, which is allocated in the arena. Control plane; fails if out of memory.
template <class IsOwn = bool (*)(const Module&) noexcept>
[[nodiscard]] Result<ArenaArray<ModuleSummary>> by_module(const Snapshot& snapshot,
                                                          const ModuleTable& modules,
                                                          IsOwn is_own = &is_runtime_module) {
  ArenaArray<ModuleSummary> sums;
  const std::size_t count = modules.modules().size();
  if (!sums.resize(count + 1)) {
    return Status::resource_exhausted("by_module: the system has no memory for it");
  }
  for (std::size_t i = 0; i < count; ++i) sums[i].module = &modules.modules()[i];
  for (const StackSummary& stack : snapshot.stacks) {
    const Module* module = module_of(*snapshot.table, stack.stack, modules, is_own);
    ModuleSummary& sum = sums[module == nullptr ? count : modules.index_of(*module)];
    sum.total += stack.total;
    sum.live_allocations += stack.live_allocations;
    sum.live_bytes += stack.live_bytes;
  }
  const auto* end = std::remove_if(sums.begin(), sums.end(), [](const ModuleSummary& sum) {
    return sum.total.allocations == 0;
  });
  static_cast<void>(sums.resize(static_cast<std::size_t>(end - sums.begin())));
  std::sort(sums.begin(), sums.end(), [](const ModuleSummary& a, const ModuleSummary& b) {
    return a.live_bytes != b.live_bytes ? a.live_bytes > b.live_bytes
                                        : a.total.allocated_bytes > b.total.allocated_bytes;
  });
  return sums;
}

}  // namespace alloctap
