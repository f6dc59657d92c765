/// Definitions for hook/program_operators.hpp.
#pragma once

#include "alloctap/hook/program_operators.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::uintptr_t ProgramOperators::Definers::find_programs(
    const char* name) const noexcept {
  const std::uintptr_t definer = module_behind_own(name);
  if (definer == own || definer == allocator) return 0;
  return definer == executable || definer != cxx_library ? definer : 0;
}

ALLOCTAP_INLINE std::uintptr_t ProgramOperators::Definers::module_behind_own(
    const char* name) const noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(os::default_symbol(name));
  if (first != 0 && module_of(first) != own) return module_of(first);
  return module_of(reinterpret_cast<std::uintptr_t>(os::next_symbol(name)));
}

}  // namespace alloctap
