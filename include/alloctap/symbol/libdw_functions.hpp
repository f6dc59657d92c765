/// An address-sorted function table of a module.
#pragma once

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace alloctap::libdw {

/// The function symbols of a module, sorted by address. The symbols come from .symtab of the module
/// or its debug file, otherwise from .dynsym. libdwfl would scan the table for each address.
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

}  // namespace alloctap::libdw
