/// Entries of Windows' functions that are called as such, over the real functions and a sink that
/// keeps what it is told.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/hook/windows/entry_points.hpp"
#include "alloctap/os/windows/api.hpp"
#include "tests/support/fakes.hpp"

namespace alloctap::testing {

struct Told {
  SinkFunction function = SinkFunction::kAllocate;
  void* pointer = nullptr;
  std::size_t bytes = 0;
  HANDLE heap = nullptr;
  bool operator==(const Told&) const = default;
};

/// Allocates nothing, and leaves GetLastError changed after each call.
template <class Tag>
struct ToldSink {
  static void on_allocate(const AllocationEvent& event) noexcept {
    keep({SinkFunction::kAllocate, event.pointer, event.size, event.heap.value});
  }
  static void on_deallocate(const DeallocationEvent& event) noexcept {
    if (look_at_free != nullptr) seen_at_free = look_at_free(event.pointer);
    keep({SinkFunction::kDeallocate, event.pointer, event.stated_size, event.heap.value});
  }
  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    keep({SinkFunction::kBeginReallocate, event.pointer, event.stated_size, event.heap.value});
    return {.pointer = event.pointer, .record = {}, .known = true};
  }
  static void cancel_reallocate(const DetachedBlock& block) noexcept {
    keep({SinkFunction::kCancelReallocate, block.pointer});
  }
  static void finish_reallocate(const DetachedBlock& block) noexcept {
    keep({SinkFunction::kFinishReallocate, block.pointer});
  }
  static void on_map(const MappingEvent& event) noexcept {
    keep({SinkFunction::kMap, event.address, event.length});
  }
  static DetachedMappings begin_unmap(const MappingEvent& event) noexcept {
    keep({SinkFunction::kBeginUnmap, event.address, event.length});
    return {.first = event.address};
  }
  static void cancel_unmap(DetachedMappings& detached) noexcept {
    keep({SinkFunction::kCancelUnmap, detached.first});
  }
  static void finish_unmap(DetachedMappings& detached) noexcept {
    keep({SinkFunction::kFinishUnmap, detached.first});
  }
  static void on_modules_unloading() noexcept {}
  static void on_modules_unloaded() noexcept {}

  static std::span<const Told> told() noexcept { return {told_.data(), count_}; }
  static void forget() noexcept {
    count_ = 0;
    look_at_free = nullptr;
  }

  /// Called with a block when its free is told; what it says is kept.
  static inline std::size_t (*look_at_free)(void* block) = nullptr;
  static inline std::size_t seen_at_free = 0;

 private:
  static void keep(const Told& told) noexcept {
    if (count_ < told_.size()) told_[count_++] = told;
    ::SetLastError(ERROR_ACCESS_DENIED);
  }

  static inline std::array<Told, 1024> told_{};
  static inline std::size_t count_ = 0;
};

/// While one is alive, `call` tells `Sink`.
template <class Tag, class ToldBy = ToldSink<Tag>>
struct WindowsEntries {
  using Sink = ToldBy;
  using Originals = WindowsOriginals<Sink>;

  WindowsEntries() {
    WindowsFunctions::for_each([](auto function) {
      using Function = decltype(function);
      Originals::template set<Function>(reinterpret_cast<std::uintptr_t>(
          ::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), Function::name)));
    });
    Sink::forget();
    Originals::set_recording(true);
  }
  ~WindowsEntries() { stop(); }
  WindowsEntries(const WindowsEntries&) = delete;
  WindowsEntries& operator=(const WindowsEntries&) = delete;

  static void stop() { Originals::set_recording(false); }

  template <class Function>
  static constexpr auto call = &WindowsEntry<Function, Sink>::call;
};

}  // namespace alloctap::testing
