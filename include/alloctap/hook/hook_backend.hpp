/// Contract of hook backends, and the registry that keeps two backends from hooking one target.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Event source that a backend intercepts. At most one backend of the process may be installed on
/// `kProcessAllocator`, because two backends would count each call twice.
enum class HookTarget : std::uint8_t {
  kProcessAllocator,
  kManual,
};

/// Abilities that a backend promises at compile time. A policy requires an ability by `requires
/// Hook::capabilities.<ability>`; the header of every report lists the abilities.
struct HookCapabilities {
  HookTarget target = HookTarget::kProcessAllocator;
  /// Every free of a tracked block reaches the backend before the allocator sees it.
  bool owns_every_free = false;
  /// A `CheckingSink` sees every block and every free of a checked block, even while no tracker
  /// runs. Checking begins at the first call of the process, or at `install`. A free of an older
  /// block is not reported as an error.
  bool checks_blocks = false;
  /// Checked blocks may lie outside the allocator's memory, in memory that the sink maps beside a
  /// guard page (`BlockPlan::place`).
  bool uses_guard_pages = false;
  /// A `RefusingSink` can make an allocation fail without calling the allocator.
  bool may_refuse = false;
  /// Calls from modules that are loaded after the start are seen.
  bool sees_later_modules = false;
  /// Mappings are reported: mmap, munmap and mremap, or their Windows counterparts.
  bool sees_mappings = false;
  /// The program may free blocks whose allocation the backend did not see. Reports therefore do not
  /// count frees of unknown blocks.
  bool misses_allocations = false;
  /// Clause that reports print: names the calls that the backend cannot see.
  std::string_view blind_spots;
};

/// The optional members of a backend.
struct HookFeatures {
  /// `active_capabilities()` returns the abilities that `install` found: those of `capabilities`
  /// and perhaps more.
  bool active_capabilities = false;
  /// `active_name()` returns the name for reports, with static storage duration.
  bool active_name = false;
  /// `earlier_blocks()` returns the blocks that existed when the backend was installed.
  bool earlier_blocks = false;
};

/// A stateless type. `install<Sink>()` routes calls to `Sink`'s functions, or returns the reason
/// why it cannot. After `uninstall()`, calls are no longer reported to `Sink`. Both functions run
/// in the control plane, one at a time. Reports print `name`. `features` declares which members of
/// `HookFeatures` the backend has.
template <class H>
concept HookBackend = requires {
  { H::name } -> std::convertible_to<std::string_view>;
  { H::capabilities } -> std::convertible_to<HookCapabilities>;
  { H::template install<EventSinkArchetype>() } -> std::same_as<Status>;
  { H::uninstall() } noexcept -> std::same_as<void>;
};

/// Minimal model of `HookBackend`.
struct HookBackendArchetype {
  static constexpr std::string_view name = "archetype";
  static constexpr HookCapabilities capabilities{};
  template <EventSink Sink>
  static Status install() {
    return Status();
  }
  static void uninstall() noexcept {}
};

static_assert(HookBackend<HookBackendArchetype>);

/// When instantiated, asserts that `H::features` declares exactly the optional members that `H`
/// has.
template <class H>
struct CheckedHook {
  static constexpr auto kHas = features_of<HookFeatures, H>();
  ALLOCTAP_CHECK_FEATURE("Hook", kHas, active_capabilities, requires { H::active_capabilities(); });
  ALLOCTAP_CHECK_FEATURE("Hook", kHas, active_name, requires { H::active_name(); });
  ALLOCTAP_CHECK_FEATURE("Hook", kHas, earlier_blocks, requires { H::earlier_blocks(); });
  static constexpr bool ok = true;
};

/// Returns the abilities that `H` has now.
template <HookBackend H>
[[nodiscard]] HookCapabilities active_capabilities() noexcept {
  if constexpr (features_of<HookFeatures, H>().active_capabilities) {
    return H::active_capabilities();
  } else {
    return H::capabilities;
  }
}

/// Returns the name that reports print: `H::active_name()` if it exists, else `H::name`. The text
/// has static storage duration.
template <HookBackend H>
[[nodiscard]] std::string_view active_name() noexcept {
  if constexpr (features_of<HookFeatures, H>().active_name) {
    return H::active_name();
  } else {
    return H::name;
  }
}

/// Returns the blocks that existed when `H` was last installed, or nullopt if `H` has no such list.
/// Every live block of the process is in the list or recorded. The result is valid until the next
/// `install`. Control plane.
template <HookBackend H>
[[nodiscard]] std::optional<std::span<const AddressRange>> earlier_blocks() noexcept {
  if constexpr (features_of<HookFeatures, H>().earlier_blocks) {
    return H::earlier_blocks();
  } else {
    return std::nullopt;
  }
}

/// Set of the targets on which a tracker of this process has a backend installed. Thread-safe.
class HookClaims {
 public:
  /// Claims `target` for the backend called `name`, which must have static storage duration.
  /// Returns nullptr on success, else the name of the backend that already holds `target`. A claim
  /// of `kManual` always succeeds, because a call of the program reports to only one manual hook.
  [[nodiscard]] static const std::string_view* claim(HookTarget target,
                                                     const std::string_view& name) noexcept;

  static void release(HookTarget target) noexcept {
    holders_[index(target)].store(nullptr, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kTargets = static_cast<std::size_t>(HookTarget::kManual) + 1;

  static constexpr std::size_t index(HookTarget target) noexcept {
    return static_cast<std::size_t>(target);
  }

  static inline constinit std::array<std::atomic<const std::string_view*>, kTargets> holders_{};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/hook_backend.hpp"
#endif
