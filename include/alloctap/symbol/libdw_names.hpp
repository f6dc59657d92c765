/// Names of functions from DWARF.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "alloctap/symbol/demangled_names.hpp"

namespace alloctap::libdw {

/// A cache of qualified and demangled function names. Returned names live as long as this object.
/// Not thread-safe; allocates from the host.
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
  /// Source names; each key is the address of the declaration's DIE.
  std::unordered_map<const void*, std::string> qualified_;
};

}  // namespace alloctap::libdw
