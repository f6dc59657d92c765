/// The contract of failures: which allocations are to fail although there is memory.
#pragma once

#include <concepts>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/refusing_sink.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// How a policy learns more of an allocation. Each runs inside malloc, on the thread that
/// allocates.
struct AllocationSurroundings {
  /// The tag that the calling thread is in; `kNoTag` for none.
  TagId (*tag)() noexcept = nullptr;
  /// The tag around one; `kNoTag` around an outermost one.
  TagId (*tag_around)(TagId inner) noexcept = nullptr;
  /// The stack of a call of the program's, as snapshots name it; `kNoStackId` where the system has
  /// no memory to keep it. Not for a call of the tracker's.
  StackId (*stack)(const CallOrigin& origin) noexcept = nullptr;
  /// Whether one of that stack's calls was made in `code`.
  bool (*passes)(StackId stack, const AddressRange& code) noexcept = nullptr;
};

/// `kFails` says whether anything can ever fail; the rest is as in `RefusingSink`.
template <class P>
concept FailurePolicy =
    requires(const AskedAllocation& asked, const AllocationSurroundings& surroundings) {
      { P::kFails } -> std::convertible_to<bool>;
      { P::may_refuse() } noexcept -> std::same_as<bool>;
      { P::refuses(asked, surroundings) } noexcept -> std::same_as<bool>;
      { P::end_asked() } noexcept -> std::same_as<void>;
    };

/// Nothing fails that would not; and nothing of it is compiled into the tracker.
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
