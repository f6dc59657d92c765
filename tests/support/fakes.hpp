/// Fakes for tests: an event sink, a queue consumer, a symbolizer and a stack capture.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/symbol/symbolizer.hpp"

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

/// An event sink, for tests of hook backends. Stores the first `kMaxCount` calls in a fixed array,
/// so it may run inside malloc. Changes errno in each call, as a real sink may. Thread-safe, except
/// for reading during calls. Sinks with different `Tag` types are independent.
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

enum class ConsumerFunction : std::uint8_t {
  kAllocation,
  kDeallocation,
  kTake,
  kPutBack,
  kPair,
};

/// One call of a consumer, with its arguments.
struct ConsumerCall {
  ConsumerFunction function = ConsumerFunction::kAllocation;
  /// nullptr for `count_pair`, whose block was freed before the consumer received it.
  void* pointer = nullptr;
  BlockRecord record;
};

/// A consumer, for tests of queues. Stores all calls in order, and the records of live blocks,
/// which `take` returns. Thread-safe. No tracker records its own allocations, on any thread.
class FakeConsumer {
 public:
  void record_allocation(const RecordedAllocation& allocation) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kAllocation, allocation.pointer, allocation.record});
    live_[allocation.pointer] = allocation.record;
  }

  void record_deallocation(void* pointer) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kDeallocation, pointer, remove(pointer)});
  }

  BlockRecord take(void* pointer) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    const BlockRecord record = remove(pointer);
    calls_.push_back({ConsumerFunction::kTake, pointer, record});
    return record;
  }

  void put_back(void* pointer, const BlockRecord& record) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kPutBack, pointer, record});
    live_[pointer] = record;
  }

  void count_pair(const BlockRecord& record) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kPair, nullptr, record});
  }

  [[nodiscard]] std::vector<ConsumerCall> calls() {
    const std::lock_guard hold(lock_);
    return calls_;
  }

  [[nodiscard]] std::map<void*, BlockRecord> live() {
    const std::lock_guard hold(lock_);
    return live_;
  }

 private:
  BlockRecord remove(void* pointer) {
    const auto place = live_.find(pointer);
    if (place == live_.end()) return {};
    const BlockRecord record = place->second;
    live_.erase(place);
    return record;
  }

  std::mutex lock_;
  std::vector<ConsumerCall> calls_;
  std::map<void*, BlockRecord> live_;
};

/// A symbolizer, for tests of dumps, that knows the functions passed to `know`.
struct FakeSymbolizer {
  /// A function at `[start, end)`.
  struct Function {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    std::string_view name;
    std::string_view file;
    std::uint32_t line = 0;
  };

  static constexpr std::string_view name = "fake";

  /// Replaces all functions. Their strings must stay valid until replaced. If functions overlap,
  /// the earlier in `functions` was inlined into the later. Not thread-safe.
  static void know(std::span<const Function> functions) {
    functions_.assign(functions.begin(), functions.end());
  }

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (const Function& function : functions_) {
        if (places[i].address < function.start || places[i].address >= function.end) continue;
        symbols.add(i, {.function = function.name, .file = function.file, .line = function.line});
      }
    }
  }

 private:
  static inline std::vector<Function> functions_;
};

static_assert(Symbolizer<FakeSymbolizer>);

/// A stack capture policy that returns the frames that the calling thread last passed to `play`.
/// Before the first `play`, returns a failed capture without frames.
struct ScriptedStack {
  static constexpr std::string_view name = "scripted";

  /// Sets the calling thread's frames, leaf first. They must stay valid until replaced. `failed`
  /// means that the stack walk ended before the outermost frame.
  static void play(std::span<const std::uintptr_t> frames, bool failed = false) noexcept {
    script = {.frames = frames, .failed = failed};
  }

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> frames) noexcept {
    const std::size_t depth = std::min(frames.size(), script.frames.size());
    std::copy_n(script.frames.begin(), depth, frames.begin());
    return {.depth = static_cast<std::uint32_t>(depth),
            .truncated = depth < script.frames.size(),
            .failed = script.failed};
  }

 private:
  struct Script {
    std::span<const std::uintptr_t> frames;
    bool failed;
  };

  static inline constinit thread_local Script script{.frames = {}, .failed = true};
};

static_assert(StackCapture<ScriptedStack>);

}  // namespace alloctap::testing
