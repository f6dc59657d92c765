/// The contract of hook backends: how the program's calls reach the tracker.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Whose calls a backend intercepts. Two backends with the same target would count one call twice,
/// so only one of them can be installed at a time.
enum class HookTarget : std::uint8_t {
  kProcessAllocator,
  kManual,
};

/// What a backend can promise. A policy that needs an ability says
/// `requires Hook::capabilities.<ability>`; every report's header states them.
struct HookCapabilities {
  HookTarget target = HookTarget::kProcessAllocator;
  /// Every free of a tracked block reaches the backend before the allocator sees it.
  bool owns_every_free = false;
  /// Blocks pass through a sink that checks them (`CheckingSink`), whether a session lives or not:
  /// from the first call of the process, or from `install` on, to the last. Every free of a checked
  /// block does, and a free of a block that came before is not taken for a fault.
  bool checks_blocks = false;
  /// A block may be of the sink's own memory (`BlockPlan::place`), which the allocator never sees.
  bool uses_guard_pages = false;
  /// A sink may have an allocation fail before the allocator is asked (`RefusingSink`).
  bool may_refuse = false;
  /// Modules loaded after start are seen.
  bool sees_later_modules = false;
  /// mmap and its relatives are seen.
  bool sees_mappings = false;
  /// Blocks come from functions that the backend does not see, and their frees do reach it: a free
  /// of an unknown block is then no news, and reports do not count it.
  bool misses_allocations = false;
  /// What it cannot see, as a clause for the reader of a report.
  std::string_view blind_spots;
};

/// A backend is a stateless type. `install<Sink>()` makes calls flow to `Sink`'s functions and
/// reports why it cannot; `uninstall()` stops the flow. Both run in the control plane, one at a
/// time. `name` appears in reports.
template <class H>
concept HookBackend = requires {
  { H::name } -> std::convertible_to<std::string_view>;
  { H::capabilities } -> std::convertible_to<HookCapabilities>;
  { H::template install<EventSinkArchetype>() } -> std::same_as<Status>;
  { H::uninstall() } noexcept -> std::same_as<void>;
};

/// The least that models `HookBackend`.
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

/// What `H` promises now. A backend that finds out when it is installed says so in a static
/// function `active_capabilities()`, which never promises less than `capabilities`.
template <HookBackend H>
[[nodiscard]] HookCapabilities active_capabilities() noexcept {
  if constexpr (requires { H::active_capabilities(); }) {
    return H::active_capabilities();
  } else {
    return H::capabilities;
  }
}

/// What reports call `H`: its name, or what its static function `active_name()` says, which lives
/// as long as the process.
template <HookBackend H>
[[nodiscard]] std::string_view active_name() noexcept {
  if constexpr (requires { H::active_name(); }) {
    return H::active_name();
  } else {
    return H::name;
  }
}

/// The blocks that the program had when `H` was installed last, as they were then: for a backend
/// that knows them, `H::earlier_blocks()`; valid until it is installed again. With those and the
/// recorded ones all are known. Control plane.
template <HookBackend H>
[[nodiscard]] std::optional<std::span<const AddressRange>> earlier_blocks() noexcept {
  if constexpr (requires { H::earlier_blocks(); }) {
    return H::earlier_blocks();
  } else {
    return std::nullopt;
  }
}

}  // namespace alloctap
