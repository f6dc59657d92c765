/// Finds the function at an address and the functions inlined there.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloctap/symbol/libdw_units.hpp"

namespace alloctap::libdw {

/// Finds the functions at each address of a unit in one walk over the unit's DIEs.
/// `dwarf_getscopes` would walk over all functions of the unit for each address.
class Scopes {
 public:
  /// Resolves the addresses in `unit`. `unit.indices` are indices into `addresses`.
  Scopes(const UnitWithAddresses& unit, const std::vector<std::uint64_t>& addresses)
      : addresses_(addresses), chains_(addresses.size()) {
    Dwarf_Die functions = unit.functions;
    walk(functions, unit.indices, kDepth);
    // Searches again, because a member function of a local class is a child DIE of a function whose
    // code lies elsewhere.
    std::vector<std::size_t> missing;
    for (const std::size_t index : unit.indices) {
      if (chains_[index].empty()) missing.push_back(index);
    }
    if (missing.empty()) return;
    everywhere_ = true;
    walk(functions, missing, kDepth);
  }

  /// Returns the functions at address number `index`: the function that is not inlined first, then
  /// inlined functions, innermost last. Empty if unknown.
  [[nodiscard]] std::vector<Dwarf_Die>& of(std::size_t index) { return chains_[index]; }

 private:
  using Indices = std::vector<std::size_t>;

  /// Maximum depth of DIEs; bounds the recursion in damaged files. Compilers nest DIEs less deeply.
  static constexpr int kDepth = 256;

  void walk(Dwarf_Die& parent, const Indices& wanted, int depth) {
    Dwarf_Die die;
    if (depth == 0 || ::dwarf_child(&parent, &die) != 0) return;
    do {
      visit(die, wanted, depth);
    } while (::dwarf_siblingof(&die, &die) == 0);
  }

  void visit(Dwarf_Die& die, const Indices& wanted, int depth) {
    switch (::dwarf_tag(&die)) {
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
        return visit_code(die, wanted, depth, true);
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        return visit_code(die, wanted, depth, false);
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        return walk(die, wanted, depth - 1);
      default:
        return;
    }
  }

  void visit_code(Dwarf_Die& die, const Indices& wanted, int depth, bool is_function) {
    Indices inside;
    for_each_range(die, [&](std::uint64_t low, std::uint64_t high) {
      auto index = std::lower_bound(
          wanted.begin(), wanted.end(), low,
          [this](std::size_t i, std::uint64_t value) { return addresses_[i] < value; });
      for (; index != wanted.end() && addresses_[*index] < high; ++index) inside.push_back(*index);
    });
    std::sort(inside.begin(), inside.end());
    for (const std::size_t index : inside) {
      if (is_function) chains_[index].push_back(die);
    }
    if (!inside.empty()) return walk(die, inside, depth - 1);
    if (everywhere_) walk(die, wanted, depth - 1);
  }

  const std::vector<std::uint64_t>& addresses_;
  std::vector<std::vector<Dwarf_Die>> chains_;
  bool everywhere_ = false;
};

}  // namespace alloctap::libdw
