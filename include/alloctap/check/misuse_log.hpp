/// A log of distinct faults with their counts, and the new faults of one call.
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

// A log of distinct faults with their counts.

/// A fault and its count. Faults are equal if kind and stacks (detection, allocation, free) are
/// equal.
struct CountedMisuse {
  Misuse first;
  std::uint64_t times = 0;
};

/// A log of the first `kMaxCount` distinct faults. Thread-safe; runs inside malloc.
/// Constant-initialized, never destroyed.
class MisuseLog {
 public:
  static constexpr std::size_t kMaxCount = 1024;

  constexpr MisuseLog() noexcept = default;
  MisuseLog(const MisuseLog&) = delete;
  MisuseLog& operator=(const MisuseLog&) = delete;

  /// Counts `misuse`. If the fault is new, returns its log entry, whose address is stable. Returns
  /// nullptr if the fault is known or the log is full.
  const Misuse* add(const Misuse& misuse) noexcept;

  /// Calls `visit(const CountedMisuse&)` in order of first detection. Holds the log's lock.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < size_; ++i) visit(entries_[i]);
  }

  [[nodiscard]] std::size_t size() const noexcept {
    const std::lock_guard hold(lock_);
    return size_;
  }

  /// Returns the number of faults found, including repeated and dropped ones.
  [[nodiscard]] std::uint64_t found() const noexcept {
    const std::lock_guard hold(lock_);
    return found_;
  }

  /// Returns the number of faults dropped because the log was full.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    const std::lock_guard hold(lock_);
    return left_out_;
  }

 private:
  static CountedMisuse* allocate() noexcept {
    void* const memory = Arena::allocate(kMaxCount * sizeof(CountedMisuse));
    return memory == nullptr ? nullptr : ::new (memory) CountedMisuse[kMaxCount];
  }

  static bool is_same(const Misuse& a, const Misuse& b) noexcept;

  mutable FutexLock lock_;
  CountedMisuse* entries_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t found_ = 0;
  std::uint64_t left_out_ = 0;
};

// The new faults that one call found.

/// Up to `kMaxKept` faults, which the `MisuseLog` owns. Drops the rest, which only sweeps find.
class FoundMisuses {
 public:
  static constexpr std::size_t kMaxKept = 8;

  /// Adds `misuse` unless it is null or the list is full.
  void add(const Misuse* misuse) noexcept {
    if (misuse != nullptr && size_ < kMaxKept) misuses_[size_++] = misuse;
  }

  [[nodiscard]] const Misuse* const* begin() const noexcept { return misuses_.data(); }
  [[nodiscard]] const Misuse* const* end() const noexcept { return misuses_.data() + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::array<const Misuse*, kMaxKept> misuses_{};
  std::size_t size_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/misuse_log.hpp"
#endif
