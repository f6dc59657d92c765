#include "lifetime_breakdown.hpp"

#include <windows.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace {

/// Keeps the compiler from knowing what a pointer is good for.
template <class T>
T* escape(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

template <class Which>
[[gnu::noinline]] void* make(Which which) {
  return escape(std::calloc(1, bytes_of(which)));
}

void* global_variable;
void* holder[8];
thread_local void* thread_variable;

[[gnu::noinline]] void hold_in_variables() {
  static void* static_variable;
  static_variable = make(Held::kStatic);
  escape(&static_variable);
  global_variable = make(Held::kGlobal);
  holder[0] = static_cast<char*>(make(Held::kInside)) + bytes_of(Held::kInside) - 1;
  void** const block = static_cast<void**>(std::calloc(1, 64));
  block[7] = make(Held::kBlock);
  holder[1] = block;
}

[[gnu::noinline]] void hold_elsewhere() {
  auto** const pages = static_cast<void**>(
      ::VirtualAlloc(nullptr, 1 << 16, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  pages[777] = make(Held::kPages);
  ::TlsSetValue(::TlsAlloc(), make(Held::kSlot));
  thread_variable = make(Held::kThreadVariable);
  escape(&thread_variable);
  void** const block =
      static_cast<void**>(::HeapAlloc(::HeapCreate(0, 0, 0), HEAP_ZERO_MEMORY, 64));
  block[3] = make(Held::kHeap);
  holder[2] = block;
}

[[gnu::noinline]] void lose() {
  escape(make(Lost::kBlock));
  void** const freed = static_cast<void**>(std::calloc(1, 4096));
  freed[50] = make(Lost::kInFreed);
  std::free(escape(freed));
  void** const head = static_cast<void**>(make(Lost::kHead));
  head[0] = make(Lost::kTail);
  escape(head);
  holder[3] = reinterpret_cast<void*>(~reinterpret_cast<std::uintptr_t>(make(Lost::kHidden)));
  holder[4] = static_cast<char*>(make(Lost::kBehindEnd)) + bytes_of(Lost::kBehindEnd);
}

/// Leaves what `work` puts on the stack far below whatever comes later.
[[gnu::noinline]] void far_below(void (*work)()) {
  char room[128 * 1024];
  escape(room);
  work();
  escape(room);
}

[[gnu::noinline]] void hold_on_stack(HANDLE ready) {
  void* volatile held = make(Held::kStack);
  ::SetEvent(ready);
  ::Sleep(INFINITE);
  escape(held);
}

/// In no memory: the value is hidden until it is in a register that calls preserve.
[[gnu::noinline]] void hold_in_register(HANDLE ready) {
  std::uintptr_t hidden = ~reinterpret_cast<std::uintptr_t>(make(Held::kRegister));
  far_below([] {});
  ::SetEvent(ready);
  asm volatile("not %0\n0: pause\n jmp 0b" : "+r"(hidden));
}

template <void (*Work)(HANDLE)>
void start_thread() {
  const HANDLE ready = ::CreateEventA(nullptr, FALSE, FALSE, nullptr);
  const LPTHREAD_START_ROUTINE start = [](void* event) -> DWORD {
    Work(event);
    return 0;
  };
  ::CreateThread(nullptr, 0, start, ready, 0, nullptr);
  ::WaitForSingleObject(ready, INFINITE);
}

/// Blocks that only this function's variables lead to.
DWORD WINAPI move_blocks(void* end) {
  const auto end_ms = reinterpret_cast<std::uintptr_t>(end);
  for (std::size_t bytes = 16; ::GetTickCount64() < end_ms; bytes = bytes % 4096 + 48) {
    void** block = static_cast<void**>(escape(std::malloc(bytes)));
    block[0] = std::malloc(40);
    block = static_cast<void**>(escape(std::realloc(block, bytes * 5)));
    block = static_cast<void**>(escape(std::realloc(block, bytes)));
    std::free(block[0]);
    std::free(block);
  }
  return 0;
}

}  // namespace

void move_blocks_about() {
  const std::uintptr_t end_ms = ::GetTickCount64() + 1000;
  HANDLE threads[4];
  for (HANDLE& thread : threads) {
    thread = ::CreateThread(nullptr, 0, &move_blocks, reinterpret_cast<void*>(end_ms), 0, nullptr);
  }
  ::WaitForMultipleObjects(4, threads, TRUE, INFINITE);
}

void hold_and_lose_blocks() {
  for (void (*work)() : {&hold_in_variables, &hold_elsewhere, &lose}) far_below(work);
  escape(&global_variable);
  escape(&holder);
  start_thread<&hold_on_stack>();
  start_thread<&hold_in_register>();
}
