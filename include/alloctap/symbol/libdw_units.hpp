/// Maps addresses to the compilation units of a module.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace alloctap::libdw {

/// A compilation unit and the addresses to symbolize in it.
struct UnitWithAddresses {
  /// The DIE of the unit that has the line table.
  Dwarf_Die lines;
  /// The DIE that contains the functions. It equals `lines`, or is the split unit in a .dwo file
  /// (DWARF 5, 3.1.2).
  Dwarf_Die functions;
  /// Indices into the sorted addresses, ascending.
  std::vector<std::size_t> indices;
};

/// Calls `visit(low, high)` for each address range of `die`.
template <class Visit>
void for_each_range(Dwarf_Die& die, Visit&& visit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr low = 0;
  Dwarf_Addr high = 0;
  std::ptrdiff_t offset = 0;
  while ((offset = ::dwarf_ranges(&die, offset, &base, &low, &high)) > 0) visit(low, high);
}

/// Calls `visit(index)` for each index of an address in `[low, high)`. `addresses` are ascending.
template <class Visit>
void for_each_inside(const std::vector<std::uint64_t>& addresses, std::uint64_t low,
                     std::uint64_t high, Visit&& visit) {
  const auto first = std::lower_bound(addresses.begin(), addresses.end(), low);
  for (auto at = first; at != addresses.end() && *at < high; ++at) {
    visit(static_cast<std::size_t>(at - addresses.begin()));
  }
}

/// Returns the DIE that contains the functions: for a skeleton unit, the DIE of its split unit.
[[nodiscard]] inline Dwarf_Die functions_of(const Dwarf_Die& unit) {
  Dwarf_Die split;
  std::uint8_t type = 0;
  const int error =
      ::dwarf_cu_info(unit.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr);
  const bool is_split = error == 0 && type == DW_UT_skeleton && ::dwarf_tag(&split) != 0;
  return is_split ? split : unit;
}

/// Returns the units of `module` that contain any of `addresses`, which are ascending. Assigns each
/// address to at most one unit. Reads the ranges of all units, because not all compilers emit
/// .debug_aranges.
[[nodiscard]] inline std::vector<UnitWithAddresses> units_of(
    Dwfl_Module* module, const std::vector<std::uint64_t>& addresses) {
  std::vector<UnitWithAddresses> units;
  std::vector<bool> taken(addresses.size());
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* die = ::dwfl_module_nextcu(module, nullptr, &bias); die != nullptr;
       die = ::dwfl_module_nextcu(module, die, &bias)) {
    std::vector<std::size_t> indices;
    for_each_range(*die, [&](std::uint64_t low, std::uint64_t high) {
      for_each_inside(addresses, low, high, [&](std::size_t index) {
        if (!taken[index]) indices.push_back(index);
        taken[index] = true;
      });
    });
    if (indices.empty()) continue;
    std::sort(indices.begin(), indices.end());
    units.push_back({*die, functions_of(*die), std::move(indices)});
  }
  return units;
}

}  // namespace alloctap::libdw
