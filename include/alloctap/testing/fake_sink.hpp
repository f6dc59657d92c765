/// An event sink that stores all calls, for tests of hook backends.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/event_sink.hpp"

namespace alloctap::testing {

enum class SinkFunction : std::uint8_t {
  kAllocate,
  kDeallocate,
  kBeginReallocate,
  kCancelReallocate,
  kFinishReallocate,
  kMap,
  kBeginUnmap,
  kCancelUnmap,
  kFinishUnmap,
  kModulesUnloading,
  kModulesUnloaded,
};

/// One call of a sink. Members that the called function has no argument for are 0.
struct SinkCall {
  SinkFunction function = SinkFunction::kAllocate;
  void* pointer = nullptr;
  /// Bytes requested, passed to a sized free, or mapped.
  std::size_t size = 0;
  std::size_t alignment = 0;
  AllocationKind allocation_kind = AllocationKind::kMalloc;
  DeallocationKind deallocation_kind = DeallocationKind::kFree;
  CallOrigin origin{};
};

/// An event sink that stores the first `kMaxCount` calls in a fixed array, so it may run inside
/// malloc. Changes errno in each call, as a real sink may. Thread-safe, except for reading during
/// calls. Sinks with different `Tag` types are independent.
template <class Tag = void>
struct FakeSink {
  static constexpr std::size_t kMaxCount = 1024;
  static constexpr int kErrnoLeftBehind = EDOM;

  static void on_allocate(const AllocationEvent& event) noexcept {
    keep({.function = SinkFunction::kAllocate,
          .pointer = event.pointer,
          .size = event.size,
          .alignment = event.alignment,
          .allocation_kind = event.kind,
          .origin = event.origin});
  }
  static void on_deallocate(const DeallocationEvent& event) noexcept {
    keep_deallocation(SinkFunction::kDeallocate, event);
  }
  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    keep_deallocation(SinkFunction::kBeginReallocate, event);
    return {.pointer = event.pointer, .record = {}, .known = true};
  }
  static void cancel_reallocate(const DetachedBlock& block) noexcept {
    keep({.function = SinkFunction::kCancelReallocate, .pointer = block.pointer});
  }
  static void finish_reallocate(const DetachedBlock& block) noexcept {
    keep({.function = SinkFunction::kFinishReallocate, .pointer = block.pointer});
  }
  static void on_map(const MappingEvent& event) noexcept {
    keep_mapping(SinkFunction::kMap, event);
  }
  static DetachedMappings begin_unmap(const MappingEvent& event) noexcept {
    keep_mapping(SinkFunction::kBeginUnmap, event);
    return {.first = event.address};
  }
  static void cancel_unmap(DetachedMappings& detached) noexcept {
    keep({.function = SinkFunction::kCancelUnmap, .pointer = detached.first});
  }
  static void finish_unmap(DetachedMappings& detached) noexcept {
    keep({.function = SinkFunction::kFinishUnmap, .pointer = detached.first});
  }

  static void on_modules_unloading() noexcept {
    keep({.function = SinkFunction::kModulesUnloading});
  }
  static void on_modules_unloaded() noexcept { keep({.function = SinkFunction::kModulesUnloaded}); }

  /// Returns the stored calls since `clear`.
  [[nodiscard]] static std::span<const SinkCall> calls() noexcept {
    return {calls_.data(), std::min(count(), kMaxCount)};
  }

  /// Returns the number of calls since `clear`, including calls that did not fit.
  [[nodiscard]] static std::size_t count() noexcept {
    return count_.load(std::memory_order_acquire);
  }

  static void clear() noexcept { count_.store(0, std::memory_order_release); }

 private:
  static void keep(const SinkCall& call) noexcept {
    const std::size_t place = count_.fetch_add(1, std::memory_order_acq_rel);
    if (place < kMaxCount) calls_[place] = call;
    errno = kErrnoLeftBehind;
  }

  static void keep_deallocation(SinkFunction function, const DeallocationEvent& event) noexcept {
    keep({.function = function,
          .pointer = event.pointer,
          .size = event.stated_size,
          .alignment = event.stated_alignment,
          .deallocation_kind = event.kind,
          .origin = event.origin});
  }

  static void keep_mapping(SinkFunction function, const MappingEvent& event) noexcept {
    keep({.function = function,
          .pointer = event.address,
          .size = event.length,
          .origin = event.origin});
  }

  static inline constinit std::array<SinkCall, kMaxCount> calls_{};
  static inline constinit std::atomic<std::size_t> count_{0};
};

static_assert(EventSink<FakeSink<>>);

}  // namespace alloctap::testing
