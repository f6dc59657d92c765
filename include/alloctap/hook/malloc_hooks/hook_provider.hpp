/// The contract of those whose hooks `MallocHooks` can use.
#pragma once

#include <concepts>
#include <string_view>

#include "alloctap/event/allocator_frames.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A stateless type that makes an allocator tell `HookFeed` of its calls. `install()` does nothing
/// but say why where the allocator is not there, or its hooks cannot be had: what was looked for,
/// and how a program provides it. `uninstall()` ends the telling as far as the allocator allows;
/// while no sink is connected what still comes is swallowed. Both run in the control plane, one at
/// a time. A static function `also_unseen()` may name what is missed and no call shows. Events name
/// `hooked_allocator_frames`.
template <class P>
concept HookProvider = requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::install() } -> std::same_as<Status>;
  { P::uninstall() } noexcept -> std::same_as<void>;
};

/// The allocator's frames of this process, found when hooks are installed for the first time.
inline constinit AllocatorFrames hooked_allocator_frames;

}  // namespace alloctap
