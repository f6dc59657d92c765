/// The contract of fault-injection policies, and the policy without failures.
#pragma once

#include <concepts>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

/// Callbacks that return an allocation's tag and stack. Run inside malloc, on the calling thread.
struct AllocationSurroundings {
  /// Returns the current tag of the calling thread; `kNoTag` outside all tags.
  TagId (*tag)() noexcept = nullptr;
  /// Returns the parent of the tag `inner`, or `kNoTag` if it has no parent.
  TagId (*tag_around)(TagId inner) noexcept = nullptr;
  /// Captures the stack of the program's call that `origin` describes. Returns `kNoStackId` if out
  /// of memory. Must not be called for allocations of the tracker.
  StackId (*stack)(const CallOrigin& origin) noexcept = nullptr;
  /// Returns whether any return address in `stack` lies in `code`.
  bool (*passes)(StackId stack, const AddressRange& code) noexcept = nullptr;
};

/// A policy for `Config::Failures`. `kFails` is false if the policy never makes an allocation fail.
/// `RefusingSink` describes the functions.
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
