/// The contract of symbolizers: the names of addresses.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap {

/// `name_of` writes the name of the function that holds the instruction at `address` to `buffer`
/// and returns it; empty where it is unknown. Control plane, one thread at a time; must allocate
/// nothing from the host, because a report may be written while a crashed thread holds its locks.
template <class S>
concept Symbolizer = requires(std::uintptr_t address, std::span<char> buffer) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::name_of(address, buffer) } noexcept -> std::same_as<std::string_view>;
};

/// The least that models `Symbolizer`.
struct SymbolizerArchetype {
  static constexpr std::string_view name = "archetype";
  static std::string_view name_of(std::uintptr_t, std::span<char>) noexcept { return {}; }
};

static_assert(Symbolizer<SymbolizerArchetype>);

}  // namespace alloctap
