/// Concept of symbolizers, which map addresses to functions, files and lines, and `NoSymbolizer`.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/event/policy_features.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// The optional member of a symbolizer.
struct SymbolizerFeatures {
  /// `note()` returns a text for reports that says why names are missing, or "" if none is missing.
  bool note = false;
};

/// A policy for `Config::Symbolizer`. `symbolize` gets all `places` at once, grouped by module and
/// ascending by address, so that each module is read once. It calls `symbols.add(i, frame)` for
/// each frame of `places[i]`, innermost inlined function first. It adds no frame for unknown
/// addresses. It must skip a file whose build-id differs from the module's, because wrong names are
/// worse than missing names.
///
/// Control plane, called by one thread at a time. Allocations that a symbolizer makes are not
/// recorded. A symbolizer for crash reports must not use the host's allocator, whose locks may
/// never be released. Other symbolizers must document that they allocate.
template <class S>
concept Symbolizer = requires(std::span<const CodeAddress> places, Symbols& symbols) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::symbolize(places, symbols) } noexcept -> std::same_as<void>;
};

/// The minimal model of `Symbolizer`.
struct SymbolizerArchetype {
  static constexpr std::string_view name = "archetype";
  static void symbolize(std::span<const CodeAddress>, Symbols&) noexcept {}
};

static_assert(Symbolizer<SymbolizerArchetype>);

/// When instantiated, rejects a symbolizer `S` whose declared features differ from its members.
template <class S>
struct CheckedSymbolizer {
  static constexpr auto kHas = features_of<SymbolizerFeatures, S>();
  ALLOCTAP_CHECK_FEATURE("Symbolizer", kHas, note, requires { S::note(); });
  static constexpr bool ok = true;
};

/// A symbolizer that names no function and needs no library. Reports show module, offset and
/// build-id for later symbolization.
struct NoSymbolizer {
  static constexpr std::string_view name = "none";
  static void symbolize(std::span<const CodeAddress>, Symbols&) noexcept {}
};

static_assert(Symbolizer<NoSymbolizer>);

}  // namespace alloctap
