/// An event sink that keeps what it is told: for tests of hook backends.
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

/// Which function of a sink was called.
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

/// One call of a sink. What a function does not state is 0.
struct SinkCall {
  SinkFunction function = SinkFunction::kAllocate;
  void* pointer = nullptr;
  /// Bytes asked for, stated or mapped.
  std::size_t size = 0;
  std::size_t alignment = 0;
  AllocationKind allocation_kind = AllocationKind::kMalloc;
  DeallocationKind deallocation_kind = DeallocationKind::kFree;
  CallOrigin origin{};
};

/// Keeps the first `kMost` calls in a fixed array, so that it works inside malloc, and leaves errno
/// changed after each, as a real one may. Thread-safe, but for reading what others still write.
/// `Tag` is any type: sinks with different tags are apart.
template <class Tag = void>
struct FakeSink {
  static constexpr std::size_t kMost = 1024;
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

  /// What was told since `clear`.
  [[nodiscard]] static std::span<const SinkCall> calls() noexcept {
    return {calls_.data(), std::min(count(), kMost)};
  }

  /// How many calls there were, kept or not.
  [[nodiscard]] static std::size_t count() noexcept {
    return count_.load(std::memory_order_acquire);
  }

  static void clear() noexcept { count_.store(0, std::memory_order_release); }

 private:
  static void keep(const SinkCall& call) noexcept {
    const std::size_t place = count_.fetch_add(1, std::memory_order_acq_rel);
    if (place < kMost) calls_[place] = call;
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

  static inline constinit std::array<SinkCall, kMost> calls_{};
  static inline constinit std::atomic<std::size_t> count_{0};
};

static_assert(EventSink<FakeSink<>>);

}  // namespace alloctap::testing
