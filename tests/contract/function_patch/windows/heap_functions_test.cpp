// 17, 18, 25: ntdll's heap functions, which threads call while they are patched, whose replacement
// calls them, and whose locks other threads hold meanwhile.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/os/windows/api.hpp"
#include "tests/support/busy_threads.hpp"
#include "tests/support/code_in_file.hpp"
#include "tests/support/system_backtrace.hpp"

namespace {

using alloctap::FunctionPatch;
using alloctap::testing::BusyThreads;

using Allocate = void* NTAPI(void*, ULONG, SIZE_T);
using Release = BOOLEAN NTAPI(void*, ULONG, void*);

template <class Function>
Function* ntdll_function(const char* name) {
  const HMODULE library = ::GetModuleHandleW(L"ntdll.dll");
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(library, name)));
}

/// What takes the place of the heap's functions.
struct Heap {
  static inline std::atomic<Allocate*> allocate{nullptr};
  static inline std::atomic<Release*> release{nullptr};
  static inline std::atomic<long> allocated{0};
  static inline std::atomic<long> released{0};

  static void* NTAPI count_allocation(void* heap, ULONG flags, SIZE_T bytes) {
    allocated.fetch_add(1, std::memory_order_relaxed);
    return allocate.load(std::memory_order_relaxed)(heap, flags, bytes);
  }
  static BOOLEAN NTAPI count_release(void* heap, ULONG flags, void* block) {
    released.fetch_add(1, std::memory_order_relaxed);
    return release.load(std::memory_order_relaxed)(heap, flags, block);
  }
};

template <class Function>
FunctionPatch prepare(const char* name, Function* replacement, std::atomic<Function*>& original) {
  auto* const function = ntdll_function<Function>(name);
  auto patch = FunctionPatch::prepare({.address = reinterpret_cast<const void*>(function)},
                                      reinterpret_cast<const void*>(replacement));
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original = patch->original(function);
  return *std::move(patch);
}

FunctionPatch prepare_allocate() {
  return prepare("RtlAllocateHeap", &Heap::count_allocation, Heap::allocate);
}

/// Does in a hook what allocates.
void allocate_in_hook() {
  std::map<int, std::string> map;
  for (int i = 0; i < 10; ++i) map[i] = std::string(100, 'x');
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%zu %f", map.size(), 1.5);
  std::array<void*, 8> here{};
  alloctap::testing::system_backtrace(here);
}

DWORD hooking_thread = 0;
int depth = 0;
long outer_calls = 0;
void* NTAPI allocate_more(void* heap, ULONG flags, SIZE_T bytes) {
  if (::GetCurrentThreadId() == hooking_thread && depth == 0) {
    depth = 1;
    ++outer_calls;
    allocate_in_hook();
    depth = 0;
  }
  return Heap::allocate.load()(heap, flags, bytes);
}

}  // namespace

TEST_CASE("the heap's functions are patched while 4 threads allocate") {
  auto allocate = prepare_allocate();
  auto release = prepare("RtlFreeHeap", &Heap::count_release, Heap::release);
  BusyThreads callers(4, [](unsigned) {
    void* const block = ::HeapAlloc(::GetProcessHeap(), 0, 100);
    ::HeapFree(::GetProcessHeap(), 0, block);
  });
  int failed = 0;
  for (int i = 0; i < 5'000; ++i) {
    if (!allocate.enable().ok() || !release.enable().ok()) ++failed;
    if (!allocate.disable().ok() || !release.disable().ok()) ++failed;
  }
  callers.stop();
  CHECK(failed == 0);
  CHECK(Heap::allocated > 0);
  CHECK(Heap::released > 0);
  CHECK(alloctap::testing::code_is_as_in_file(
      reinterpret_cast<const void*>(ntdll_function<Allocate>("RtlAllocateHeap"))));

  REQUIRE(allocate.enable().ok());
  const long before = Heap::allocated;
  for (int i = 0; i < 1000; ++i) {
    ::HeapFree(::GetProcessHeap(), 0, ::HeapAlloc(::GetProcessHeap(), 0, 100));
  }
  CHECK(Heap::allocated - before == 1000);
}

TEST_CASE("a replacement of the heap's allocation may do what allocates") {
  auto patch = prepare("RtlAllocateHeap", &allocate_more, Heap::allocate);
  hooking_thread = ::GetCurrentThreadId();
  REQUIRE(patch.enable().ok());
  const long before = outer_calls;
  for (int i = 0; i < 100; ++i) {
    ::HeapFree(::GetProcessHeap(), 0, ::HeapAlloc(::GetProcessHeap(), 0, 10));
  }
  const long after = outer_calls;
  REQUIRE(patch.disable().ok());
  CHECK(after - before == 100);
}

TEST_CASE("the heap is patched while another thread holds its lock") {
  auto patch = prepare_allocate();
  std::atomic<int> step{0};
  std::thread holder([&] {
    ::HeapLock(::GetProcessHeap());
    step = 1;
    while (step == 1) std::this_thread::yield();
    ::HeapUnlock(::GetProcessHeap());
  });
  while (step == 0) std::this_thread::yield();
  const bool enabled = patch.enable().ok();
  const bool disabled = patch.disable().ok();
  step = 2;
  holder.join();
  CHECK(enabled);
  CHECK(disabled);
}
