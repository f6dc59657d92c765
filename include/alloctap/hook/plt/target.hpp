/// What the slots of modules are compared with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap {

/// One function that is hooked in slots.
struct PltTarget {
  /// As the linker knows it; ends in '\0'.
  const char* name = nullptr;
  /// What slots are made to hold.
  std::uintptr_t handler = 0;
  /// The real function; 0 as long as no module that was looked at imports it.
  std::uintptr_t original = 0;
  /// What stands for the function in a program that is not position-independent and takes its
  /// address: a stub of that program. 0 where there is none.
  std::uintptr_t program_stub = 0;
  /// Which group of functions it belongs to.
  std::uint32_t group = 0;
  /// Tells the handler where the original is; called before any slot holds the handler.
  void (*publish)(std::uintptr_t original) noexcept = nullptr;
};

/// All of them, found by name. Constant-initialized; not thread-safe.
class PltTargets {
 public:
  static constexpr std::size_t kMost = 160;

  void clear() noexcept {
    count_ = 0;
    starts_ = {};
  }

  /// False where there are `kMost`.
  [[nodiscard]] bool add(const PltTarget& target) noexcept;

  /// nullptr for a name that is none of them, which nearly all are.
  [[nodiscard]] PltTarget* find(const char* name) noexcept;

  [[nodiscard]] std::span<PltTarget> all() noexcept { return std::span(targets_).first(count_); }

 private:
  static constexpr std::uint32_t kHashes = 1024;

  /// Of the first four characters, which tell operators new and delete from other C++ names.
  static std::uint32_t hash_start(const char* name) noexcept;

  std::array<PltTarget, kMost> targets_{};
  std::array<std::uint64_t, kHashes / 64> starts_{};
  std::size_t count_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/target.hpp"
#endif
