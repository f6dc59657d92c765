/// Definitions for hook/plt/target.hpp.
#pragma once

#include <cstring>

#include "alloctap/hook/plt/target.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool PltTargets::add(const PltTarget& target) noexcept {
  if (count_ == kMaxCount) return false;
  const std::uint32_t hash = hash_start(target.name);
  starts_[hash / 64] |= std::uint64_t{1} << (hash % 64);
  targets_[count_++] = target;
  return true;
}

ALLOCTAP_INLINE PltTarget* PltTargets::find(const char* name) noexcept {
  const std::uint32_t hash = hash_start(name);
  if ((starts_[hash / 64] >> (hash % 64) & 1) == 0) return nullptr;
  for (PltTarget& target : all()) {
    if (std::strcmp(target.name, name) == 0) return &target;
  }
  return nullptr;
}

ALLOCTAP_INLINE std::uint32_t PltTargets::hash_start(const char* name) noexcept {
  std::uint32_t hash = 0;
  for (int i = 0; i < 4 && name[i] != '\0'; ++i) {
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x01000193U;
  }
  return (hash ^ (hash >> 15)) % kHashes;
}

}  // namespace alloctap
