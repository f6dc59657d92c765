/// Code that must not allocate.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/game/scope_offences.hpp"

namespace alloctap {

/// What is said of a scope that should not allocate; see `AllocationLimit`.
struct NoAllocationOptions {
  std::uint64_t allowed = 0;
  bool forbids_frees = false;
  bool aborts = false;
  void (*on_offence)(const ScopeOffence& offence) noexcept = nullptr;
};

/// What its thread allocates while one is alive is an offence, whoever's code does it:
///
///     {
///       alloctap::no_allocation_scope mixing{"mix audio"};
///       mixer.run();
///     }
///
/// Offences are counted by scope and stack (`scope_offences`), and may call a function or end the
/// program. `allocations_allowed` makes an exception. Needs `AllocationScopes` as `AllocationScope`
/// does; without them nothing is an offence, and `counts()` is false.
///
/// The name outlives the scope. One without allocations costs a few stores.
class NoAllocationScope : public AllocationScope {
 public:
  explicit NoAllocationScope(std::string_view name) noexcept
      : AllocationScope(name, &kNothingAllowed, ScopeNode::State::kOpen) {}

  NoAllocationScope(std::string_view name, const NoAllocationOptions& options) noexcept
      : NoAllocationScope(name) {
    set_limit({.allowed = options.allowed,
               .forbids_frees = options.forbids_frees,
               .aborts = options.aborts,
               .on_offence = options.on_offence});
  }

  ~NoAllocationScope() {
    if (offends()) [[unlikely]] {
      scope_offences.add(*node());
    }
  }
  NoAllocationScope(const NoAllocationScope&) = delete;
  NoAllocationScope& operator=(const NoAllocationScope&) = delete;

  /// Whether there was an offence so far.
  [[nodiscard]] bool offends() const noexcept {
    if (node() == nullptr || !node()->has_counted()) return false;
    const AllocationLimit& limit = *node()->limit;
    const AllocationSums now = sums();
    return now.allocations > limit.allowed || (limit.forbids_frees && now.frees > 0);
  }

 private:
  static constexpr AllocationLimit kNothingAllowed{.allowed = 0};
};

using no_allocation_scope = NoAllocationScope;

}  // namespace alloctap
