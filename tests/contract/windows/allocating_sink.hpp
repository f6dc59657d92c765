/// A sink that does everything that a hook should not, and the backend that feeds it.
#pragma once

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"

namespace alloctap::testing {

/// By every kind of call that backends see, and by libraries.
inline void allocate_a_lot() {
  void* volatile block = std::malloc(100);
  std::free(block);
  std::map<int, int> map;
  for (int i = 0; i < 10; ++i) map[i] = i;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.40f", 1.0 / 3);
  const HANDLE heap = ::HeapCreate(0, 0, 0);
  block = ::HeapAlloc(heap, 0, 100);
  ::HeapDestroy(heap);
  void* const pages = ::VirtualAlloc(nullptr, 4096, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  ::VirtualFree(pages, 0, MEM_RELEASE);
}

/// Counts what the program does, and calls that came back to it from what it calls.
struct AllocatingSink : EventSinkArchetype {
  static void on_allocate(const AllocationEvent&) noexcept { work(allocations); }
  static void on_deallocate(const DeallocationEvent&) noexcept { work(deallocations); }
  static void on_map(const MappingEvent&) noexcept { work(mappings); }
  static void finish_unmap(DetachedMappings&) noexcept { work(unmappings); }

  static void clear() noexcept {
    for (std::atomic<int>* count :
         {&returns, &allocations, &deallocations, &mappings, &unmappings}) {
      *count = 0;
    }
  }

  static inline std::atomic<int> returns{0};
  static inline std::atomic<int> allocations{0};
  static inline std::atomic<int> deallocations{0};
  static inline std::atomic<int> mappings{0};
  static inline std::atomic<int> unmappings{0};

 private:
  static void work(std::atomic<int>& count) noexcept {
    // Other threads of the process, such as Wine's, are not asked.
    if (::GetCurrentThreadId() != thread) return;
    if (inside) {
      ++returns;
      return;
    }
    ++count;
    inside = true;
    allocate_a_lot();
    inside = false;
  }

  static inline const DWORD thread = ::GetCurrentThreadId();
  static inline std::atomic<bool> inside{false};
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
