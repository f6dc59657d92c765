/// A log of distinct faults, the new faults of one call, and names of fault kinds and calls.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>

#include "alloctap/check/misuse.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// A fault and its count. Two faults are equal if their kinds and their stacks of detection,
/// allocation and free are equal.
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

/// A list of at most `kMaxKept` new faults that one call found; the `MisuseLog` owns the faults.
/// Only a sweep can find more; the list omits these.
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

/// Returns the name of `kind` in recordings, suppressions and options, in lower case with '_'.
[[nodiscard]] constexpr std::string_view key_of(MisuseKind kind) noexcept {
  switch (kind) {
    case MisuseKind::kDoubleFree:
      return "double_free";
    case MisuseKind::kUnknownPointer:
      return "unknown_pointer";
    case MisuseKind::kInteriorPointer:
      return "interior_pointer";
    case MisuseKind::kKindMismatch:
      return "mismatched_release";
    case MisuseKind::kWrongSize:
      return "wrong_size";
    case MisuseKind::kWrongAlignment:
      return "wrong_alignment";
    case MisuseKind::kWrongHeap:
      return "wrong_heap";
    case MisuseKind::kWriteBefore:
      return "write_before";
    case MisuseKind::kWriteBehind:
      return "write_behind";
    case MisuseKind::kWriteAfterFree:
      return "write_after_free";
    case MisuseKind::kReadBefore:
      return "read_before";
    case MisuseKind::kReadBehind:
      return "read_behind";
    case MisuseKind::kReadAfterFree:
      return "read_after_free";
    case MisuseKind::kOverlappingCopy:
      return "overlapping_copy";
  }
  return "misuse";
}

/// Returns the kind with the name `key`, or nullopt.
[[nodiscard]] constexpr std::optional<MisuseKind> misuse_kind_of(std::string_view key) noexcept {
  for (std::size_t i = 0; i < kMisuseKinds; ++i) {
    const auto kind = static_cast<MisuseKind>(i);
    if (key_of(kind) == key) return kind;
  }
  return std::nullopt;
}

/// These overloads of `name_of` return the name of a call in reports.
[[nodiscard]] constexpr std::string_view name_of(AllocationKind kind) noexcept {
  switch (kind) {
    case AllocationKind::kMalloc:
      return "malloc";
    case AllocationKind::kAlignedAlloc:
      return "aligned_alloc";
    case AllocationKind::kNew:
      return "new";
    case AllocationKind::kNewArray:
      return "new[]";
    case AllocationKind::kAlignedNew:
      return "aligned new";
    case AllocationKind::kAlignedNewArray:
      return "aligned new[]";
    case AllocationKind::kAlignedMalloc:
      return "_aligned_malloc";
    case AllocationKind::kCustom:
      return "an allocator of its own";
  }
  return "?";
}

[[nodiscard]] constexpr std::string_view name_of(DeallocationKind kind) noexcept {
  switch (kind) {
    case DeallocationKind::kFree:
      return "free";
    case DeallocationKind::kRealloc:
      return "realloc";
    case DeallocationKind::kDelete:
      return "delete";
    case DeallocationKind::kDeleteArray:
      return "delete[]";
    case DeallocationKind::kAlignedDelete:
      return "aligned delete";
    case DeallocationKind::kAlignedDeleteArray:
      return "aligned delete[]";
    case DeallocationKind::kAlignedFree:
      return "_aligned_free";
    case DeallocationKind::kCustom:
      return "an allocator of its own";
  }
  return "?";
}

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/misuse_log.hpp"
#endif
