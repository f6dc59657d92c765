#pragma once

#include <dlfcn.h>
#include <link.h>

#include "alloctap/os/function_symbol.hpp"

namespace alloctap::os {

inline FunctionSymbol find_function_symbol(const void* address) noexcept {
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  void** const out = reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol));
  if (::dladdr1(address, &info, out, RTLD_DL_SYMENT) == 0) return {};
  if (symbol == nullptr || info.dli_saddr != address) return {};
  return {info.dli_sname, symbol->st_size};
}

}  // namespace alloctap::os
