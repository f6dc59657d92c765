/// The functions at an address, from DWARF or the symbol table.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "alloctap/symbol/demangled_names.hpp"

namespace alloctap::libdw {

/// The function symbols of a module, sorted by address. The symbols come from .symtab of the module
/// or its debug file, otherwise from .dynsym. Replaces libdwfl's look-up, which scans all symbols.
class FunctionSymbols {
 public:
  explicit FunctionSymbols(Dwfl_Module* module) {
    const int count = ::dwfl_module_getsymtab(module);
    for (int i = 1; i < count; ++i) add(module, i);
    std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
      return std::tie(a.start, a.binding_rank) < std::tie(b.start, b.binding_rank);
    });
  }

  /// Returns the name of the function that contains the file address `address`. If several
  /// functions begin at one address, prefers global symbols. Returns nullptr if unknown.
  [[nodiscard]] const char* find(std::uint64_t address) const {
    auto function = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](std::uint64_t value, const Function& other) { return value < other.start; });
    // A function that encloses another begins at most a few entries before the enclosed one.
    const char* best = nullptr;
    std::uint64_t start = 0;
    for (int i = 0; i < kMaxNested && function != functions_.begin(); ++i) {
      --function;
      if (best != nullptr && function->start != start) break;
      if (address >= function->end) continue;
      best = function->name;
      start = function->start;
    }
    return best;
  }

 private:
  static constexpr int kMaxNested = 32;

  struct Function {
    std::uint64_t start;
    std::uint64_t end;
    const char* name;
    /// Rank of the symbol's binding: global, weak, local. The lowest rank is preferred.
    int binding_rank;
  };

  void add(Dwfl_Module* module, int index) {
    GElf_Sym symbol;
    GElf_Addr start = 0;
    const char* name =
        ::dwfl_module_getsym_info(module, index, &symbol, &start, nullptr, nullptr, nullptr);
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || *name == '\0' || symbol.st_shndx == SHN_UNDEF) return;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_size == 0) return;
    functions_.push_back({start, start + symbol.st_size, name, rank_of(symbol)});
  }

  static int rank_of(const GElf_Sym& symbol) noexcept {
    const int binding = GELF_ST_BIND(symbol.st_info);
    return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  }

  std::vector<Function> functions_;
};

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

/// A cache of qualified and demangled function names from DWARF. Returned names live as long as
/// this object. Not thread-safe; allocates from the host.
class FunctionNames {
 public:
  [[nodiscard]] std::string_view of_symbol(const char* symbol) { return demangled_.of(symbol); }

  /// Returns the demangled linkage name of `function`. Returns an empty string if DWARF has no
  /// linkage name, as for C functions and static functions.
  [[nodiscard]] std::string_view linkage_name(Dwarf_Die& function) {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
      Dwarf_Attribute found;
      if (::dwarf_attr_integrate(&function, attribute, &found) == nullptr) continue;
      const char* symbol = ::dwarf_formstring(&found);
      if (symbol != nullptr) return of_symbol(symbol);
    }
    return {};
  }

  /// Returns the source name with its namespaces and classes; empty if the function is unnamed.
  [[nodiscard]] std::string_view source_name(Dwarf_Die& function) {
    Dwarf_Die declaration = declaration_of(function);
    const auto [entry, is_new] = qualified_.try_emplace(declaration.addr);
    if (is_new) entry->second = qualify(declaration);
    return entry->second;
  }

 private:
  /// Follows abstract origins and specifications to the declaration (DWARF 5, 3.3.8, 2.13.2).
  static Dwarf_Die declaration_of(const Dwarf_Die& function) {
    // A longer chain is a cycle in a damaged file.
    constexpr int kLongestChain = 16;
    Dwarf_Die die = function;
    for (int i = 0; i < kLongestChain; ++i) {
      Dwarf_Attribute link;
      const bool found = ::dwarf_attr(&die, DW_AT_abstract_origin, &link) != nullptr ||
                         ::dwarf_attr(&die, DW_AT_specification, &link) != nullptr;
      Dwarf_Die next;
      if (!found || ::dwarf_formref_die(&link, &next) == nullptr) break;
      die = next;
    }
    return die;
  }

  static std::string qualify(Dwarf_Die& declaration) {
    const char* name = ::dwarf_diename(&declaration);
    if (name == nullptr) return {};
    std::string qualified = name;
    Dwarf_Die* scopes = nullptr;
    const int count = ::dwarf_getscopes_die(&declaration, &scopes);
    const std::unique_ptr<Dwarf_Die, decltype(&std::free)> owner(scopes, &std::free);
    for (int i = 1; i < count; ++i) qualified.insert(0, prefix_of(scopes[i]));
    return qualified;
  }

  static std::string prefix_of(Dwarf_Die& scope) {
    const char* name = ::dwarf_diename(&scope);
    switch (::dwarf_tag(&scope)) {
      case DW_TAG_namespace:
        return name == nullptr ? "(anonymous namespace)::" : std::string(name) + "::";
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_subprogram:
        return name == nullptr ? std::string() : std::string(name) + "::";
      default:
        return {};
    }
  }

  DemangledNames demangled_;
  /// Qualified function names as written in the source. The key is the address of the DIE that
  /// declares the function.
  std::unordered_map<const void*, std::string> qualified_;
};

}  // namespace alloctap::libdw
