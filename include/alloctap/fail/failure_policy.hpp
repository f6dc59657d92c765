/// The concept of fault-injection policies.
#pragma once

#include <concepts>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/refusing_sink.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// Callbacks that give a policy details of an allocation. Each runs inside malloc, on the
/// allocating thread.
struct AllocationSurroundings {
  /// Returns the current tag of the calling thread; `kNoTag` outside all tags.
  TagId (*tag)() noexcept = nullptr;
  /// Returns the parent of a tag; `kNoTag` for an outermost one.
  TagId (*tag_around)(TagId inner) noexcept = nullptr;
  /// Captures the stack of a call of the program. Returns `kNoStackId` if out of memory. Not for
  /// the tracker's own calls.
  StackId (*stack)(const CallOrigin& origin) noexcept = nullptr;
  /// Returns whether a call in that stack was made from `code`.
  bool (*passes)(StackId stack, const AddressRange& code) noexcept = nullptr;
};

/// The slot `Failures`. `kFails` is false if nothing can fail; for the rest see `RefusingSink`.
template <class P>
concept FailurePolicy =
    requires(const AskedAllocation& asked, const AllocationSurroundings& surroundings) {
      { P::kFails } -> std::convertible_to<bool>;
      { P::may_refuse() } noexcept -> std::same_as<bool>;
      { P::refuses(asked, surroundings) } noexcept -> std::same_as<bool>;
      { P::end_asked() } noexcept -> std::same_as<void>;
    };

/// No fault injection; compiles no code for it into the tracker.
struct NoFailures {
  static constexpr bool kFails = false;
  static constexpr bool may_refuse() noexcept { return false; }
  static constexpr bool refuses(const AskedAllocation&, const AllocationSurroundings&) noexcept {
    return false;
  }
  static constexpr void end_asked() noexcept {}
};

static_assert(FailurePolicy<NoFailures>);

}  // namespace alloctap
