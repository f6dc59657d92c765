/// Contract of the providers of `MallocHooks`.
#pragma once

#include <concepts>
#include <string_view>

#include "alloctap/event/allocator_frames.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A stateless type that makes an allocator's hooks report to `HookFeed`. If the allocator is
/// missing or its hooks are unusable, `install()` changes nothing and returns an error with the
/// remedy. `uninstall()` removes the hooks if possible; otherwise `HookFeed` drops later events.
/// Both run in the control plane, one at a time. An optional `also_unseen()` names blind spots that
/// the probe cannot detect. The origins of events point to `hooked_allocator_frames`.
template <class P>
concept HookProvider = requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::install() } -> std::same_as<Status>;
  { P::uninstall() } noexcept -> std::same_as<void>;
};

/// Return addresses in the allocator, for frames that stacks omit. Added by the probe.
inline constinit AllocatorFrames hooked_allocator_frames;

}  // namespace alloctap
