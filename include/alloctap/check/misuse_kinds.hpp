/// A set of fault kinds.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "alloctap/check/misuse.hpp"

namespace alloctap {

/// A bit set of `MisuseKind` values.
class MisuseKinds {
 public:
  constexpr MisuseKinds() noexcept = default;
  constexpr MisuseKinds(std::initializer_list<MisuseKind> kinds) noexcept {
    for (const MisuseKind kind : kinds) add(kind);
  }

  [[nodiscard]] static constexpr MisuseKinds all() noexcept {
    MisuseKinds kinds;
    kinds.bits_ = (std::uint32_t{1} << kMisuseKinds) - 1;
    return kinds;
  }

  constexpr void add(MisuseKind kind) noexcept { bits_ |= bit_of(kind); }

  [[nodiscard]] constexpr bool contains(MisuseKind kind) const noexcept {
    return (bits_ & bit_of(kind)) != 0;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  bool operator==(const MisuseKinds&) const = default;

 private:
  static constexpr std::uint32_t bit_of(MisuseKind kind) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(kind);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace alloctap
