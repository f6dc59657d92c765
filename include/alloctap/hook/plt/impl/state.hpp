/// Definitions for hook/plt/state.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/hook/plt/state.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE const ChosenModule* ChosenModules::find(std::string_view path,
                                                        std::string_view name) const noexcept {
  const std::size_t hash = ChosenModules::hash(path, name);
  const auto* found = std::find_if(modules_.begin(), modules_.end(), [&](const auto& module) {
    return module.hash == hash && module.path == path && module.name == name;
  });
  return found == modules_.end() ? nullptr : found;
}

ALLOCTAP_INLINE std::uintptr_t PltState::previous(std::uintptr_t address) const noexcept {
  const auto* slot = std::lower_bound(
      hooked.begin(), hooked.end(), address,
      [](const HookedSlot& other, std::uintptr_t value) { return other.address < value; });
  return slot == hooked.end() || slot->address != address ? 0 : slot->previous;
}

ALLOCTAP_INLINE std::uint32_t PltState::groups_of(std::string_view path,
                                                  std::string_view name) const {
  std::uint32_t groups = group_bit(kLoaderGroup);
  const std::string path_text(path);
  const std::string name_text(name);
  for (std::size_t i = 0; i < selections.size(); ++i) {
    if (selections[i]->selects(path_text, name_text)) {
      groups |= group_bit(static_cast<std::uint32_t>(i));
    }
  }
  return groups;
}

}  // namespace alloctap
