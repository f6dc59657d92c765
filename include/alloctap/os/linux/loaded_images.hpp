/// Module list by dl_iterate_phdr(3). glibc lists and counts a module before relocating it.
#pragma once

#include <link.h>
#include <sys/auxv.h>

#include <type_traits>

#include "alloctap/os/loaded_images.hpp"

namespace alloctap::os {

template <class Visit>
void visit_loaded_images(Visit&& visit) noexcept {
  using Function = std::remove_reference_t<Visit>;
  const auto call = [](dl_phdr_info* info, std::size_t, void* function) {
    (*static_cast<Function*>(function))(
        LoadedImage{.bias = info->dlpi_addr,
                    .segments = {info->dlpi_phdr, info->dlpi_phnum},
                    .name = info->dlpi_name == nullptr ? "" : info->dlpi_name});
    return 0;
  };
  ::dl_iterate_phdr(call, const_cast<std::remove_const_t<Function>*>(&visit));
}

inline LoaderCounts loader_counts() noexcept {
  LoaderCounts counts;
  const auto call = [](dl_phdr_info* info, std::size_t, void* result) {
    *static_cast<LoaderCounts*>(result) = {info->dlpi_adds, info->dlpi_subs};
    return 1;
  };
  ::dl_iterate_phdr(call, &counts);
  return counts;
}

inline std::uintptr_t executable_address() noexcept { return ::getauxval(AT_PHDR); }
inline std::uintptr_t loader_address() noexcept { return ::getauxval(AT_BASE); }
inline std::uintptr_t vdso_address() noexcept { return ::getauxval(AT_SYSINFO_EHDR); }

}  // namespace alloctap::os
