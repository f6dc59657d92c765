/// Functions to hook in GOT slots or import tables, by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap {

/// One function to hook.
struct PltTarget {
  /// Linker symbol; null-terminated.
  const char* name = nullptr;
  /// Address to store in slots.
  std::uintptr_t handler = 0;
  /// Address of the real function; 0 until a walked module imports it.
  std::uintptr_t original = 0;
  /// PLT entry that serves as the function's address in a non-PIE executable; else 0.
  std::uintptr_t program_stub = 0;
  /// Index of the group of functions that the function belongs to.
  std::uint32_t group = 0;
  /// Stores the original's address for the handler. Called before any slot holds the handler.
  void (*publish)(std::uintptr_t original) noexcept = nullptr;
};

/// Table of the functions to hook. Constant-initialized; not thread-safe.
class PltTargets {
 public:
  static constexpr std::size_t kMaxCount = 160;

  void clear() noexcept {
    count_ = 0;
    starts_ = {};
  }

  /// Returns false if the table is full.
  [[nodiscard]] bool add(const PltTarget& target) noexcept;

  /// Returns the function called `name`, or nullptr. A Bloom filter on the first characters rejects
  /// most unknown names.
  [[nodiscard]] PltTarget* find(const char* name) noexcept;

  [[nodiscard]] std::span<PltTarget> all() noexcept { return std::span(targets_).first(count_); }

 private:
  static constexpr std::uint32_t kHashes = 1024;

  /// Hashes the first four characters, which distinguish operators new and delete from other C++
  /// names.
  static std::uint32_t hash_start(const char* name) noexcept;

  std::array<PltTarget, kMaxCount> targets_{};
  std::array<std::uint64_t, kHashes / 64> starts_{};
  std::size_t count_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/target.hpp"
#endif
