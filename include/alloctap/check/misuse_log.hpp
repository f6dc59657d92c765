/// Every fault once, with how often it was found.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "alloctap/check/misuse.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// A fault and how often it was found: faults of one kind, in calls of one stack, with blocks of
/// one stack, are one.
struct CountedMisuse {
  Misuse first;
  std::uint64_t times = 0;
};

/// Those that were found first, up to `kMost`. Thread-safe; runs inside malloc. Constant-
/// initialized, never destroyed.
class MisuseLog {
 public:
  static constexpr std::size_t kMost = 1024;

  constexpr MisuseLog() noexcept = default;
  MisuseLog(const MisuseLog&) = delete;
  MisuseLog& operator=(const MisuseLog&) = delete;

  /// Counts `misuse`. What it returns is its first of that kind, and stays where it is; nullptr
  /// where it was known already, or there is no room for it.
  const Misuse* add(const Misuse& misuse) noexcept;

  /// Calls `visit(const CountedMisuse&)` for each, in the order in which they were found first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < size_; ++i) visit(entries_[i]);
  }

  [[nodiscard]] std::size_t size() const noexcept {
    const std::lock_guard hold(lock_);
    return size_;
  }

  /// How many faults were found, those that are not kept included.
  [[nodiscard]] std::uint64_t found() const noexcept {
    const std::lock_guard hold(lock_);
    return found_;
  }

  /// Faults for which there was no room.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    const std::lock_guard hold(lock_);
    return left_out_;
  }

 private:
  static CountedMisuse* allocate() noexcept {
    void* const memory = Arena::allocate(kMost * sizeof(CountedMisuse));
    return memory == nullptr ? nullptr : ::new (memory) CountedMisuse[kMost];
  }

  static bool is_same(const Misuse& a, const Misuse& b) noexcept;

  mutable FutexLock lock_;
  CountedMisuse* entries_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t found_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/misuse_log.hpp"
#endif
