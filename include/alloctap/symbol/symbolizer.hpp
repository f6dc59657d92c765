/// The contract of symbolizers: functions, files and lines of addresses.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/symbol/source_frame.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// `symbolize` answers for all `places` at once, so that a module is read once: for
/// `places[i]` it calls `symbols.add(i, frame)` for each frame, the innermost inlined function
/// first. Places of one module stand side by side, by ascending address. What is unknown gets no
/// frame; a wrong name is worse than none, so a file that is not the one that ran (its build-id is
/// another) is not asked.
///
/// Control plane, one thread at a time, under a guard: allocations are not recorded. A symbolizer
/// for reports of crashed programs allocates nothing from the host, whose locks may be held for
/// ever; one that does says so.
template <class S>
concept Symbolizer = requires(std::span<const CodeAddress> places, Symbols& symbols) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::symbolize(places, symbols) } noexcept -> std::same_as<void>;
};

/// The least that models `Symbolizer`.
struct SymbolizerArchetype {
  static constexpr std::string_view name = "archetype";
  static void symbolize(std::span<const CodeAddress>, Symbols&) noexcept {}
};

static_assert(Symbolizer<SymbolizerArchetype>);

}  // namespace alloctap
