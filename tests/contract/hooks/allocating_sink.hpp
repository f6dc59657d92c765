/// A sink that does everything that a hook should not, and the backend that feeds it.
#pragma once

#include <execinfo.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"

namespace alloctap::testing {

/// Allocates, prints, walks modules and the stack.
inline void allocate_a_lot() {
  void* volatile block = std::malloc(100);
  std::free(block);
  std::map<int, int> map;
  for (int i = 0; i < 10; ++i) map[i] = i;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.40f", 1.0 / 3);
  dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
  std::array<void*, 16> frames{};
  backtrace(frames.data(), static_cast<int>(frames.size()));
}

/// Counts blocks of `kSize` bytes and their frees, which no other thread makes meanwhile, and calls
/// that came back to it from what it calls.
struct AllocatingSink : EventSinkArchetype {
  static void on_allocate(const AllocationEvent& event) noexcept {
    if (came_back() || event.size != kSize) return;
    ++allocations;
    last_block = event.pointer;
    work();
  }
  static void on_deallocate(const DeallocationEvent& event) noexcept {
    if (came_back() || event.pointer != last_block.load()) return;
    ++deallocations;
    work();
  }

  static void clear() noexcept {
    returns = 0;
    allocations = 0;
    deallocations = 0;
    last_block = nullptr;
  }

  static constexpr std::size_t kSize = 12'345;
  static inline std::atomic<int> returns{0};
  static inline std::atomic<int> allocations{0};
  static inline std::atomic<int> deallocations{0};
  /// What it does in each of them.
  static inline std::atomic<void (*)()> body{&allocate_a_lot};

 private:
  static bool came_back() noexcept {
    if (inside) ++returns;
    return inside;
  }
  static void work() noexcept {
    inside = true;
    body.load()();
    inside = false;
  }

  static inline std::atomic<bool> inside{false};
  static inline std::atomic<void*> last_block{nullptr};
};

/// For ALLOCTAP_DEFINE_INTERPOSED_MALLOC: stands for a tracker.
struct AllocatingProbe {
  using Sink = AllocatingSink;
};

/// The backend of a program, which feeds `AllocatingSink`. `install` returns what is wrong, or "".
struct GuardedHook {
  std::string (*install)();
  void (*uninstall)();
};

extern const GuardedHook guarded_hook;

template <class Hook>
constexpr GuardedHook guarded_hook_of() {
  return {[] {
            const Status status = Hook::template install<AllocatingSink>();
            return status.ok() ? std::string() : to_string(status);
          },
          [] { Hook::uninstall(); }};
}

}  // namespace alloctap::testing
