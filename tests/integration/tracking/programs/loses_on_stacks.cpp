// Loses a block whose address is left over in all of the stack that later calls use, and ends in
// the way that is asked for.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

template <class T>
T* escape(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

/// Leaves the address in each word of what is the unused part of the stack afterwards, but for the
/// uppermost ones.
[[gnu::noinline]] void lose_block(std::size_t left_out = 0) {
  constexpr std::size_t kWords = 2048;
  void* volatile words[kWords];
  void* const lost = escape(std::malloc(100));
  for (std::size_t i = 0; i < kWords - left_out; ++i) words[i] = lost;
  escape(words);
}

void* lose_on_thread(void*) {
  lose_block();
  return nullptr;
}
/// Nobody takes it.
void* return_block(void*) { return escape(std::malloc(100)); }

#if defined(__x86_64__)
/// Ends by a signal that comes while a register alone holds a block. Nothing of the lost one is
/// left where this function may keep something below its stack pointer.
[[noreturn, gnu::noinline]] void end_with_register() {
  constexpr std::size_t kRedZoneWords = 16;
  std::uintptr_t hidden = ~reinterpret_cast<std::uintptr_t>(escape(std::malloc(200)));
  lose_block(2 * kRedZoneWords);
  // kill(getpid(), SIGTERM)
  asm volatile("mov %0, %%rbx\n not %%rbx\n xor %0, %0\n mov $62, %%eax\n syscall\n ud2"
               : "+r"(hidden)
               : "D"(getpid()), "S"(SIGTERM)
               : "rax", "rbx", "rcx", "r11", "memory");
  __builtin_unreachable();
}
#endif

}  // namespace

/// With the way.
int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  if (way == "thread" || way == "result") {
    pthread_t thread{};
    auto* const routine = way == "thread" ? &lose_on_thread : &return_block;
    if (pthread_create(&thread, nullptr, routine, nullptr) != 0) std::abort();
    pthread_join(thread, nullptr);
    return 0;
  }
#if defined(__x86_64__)
  if (way == "signal") end_with_register();
#endif
  lose_block();
  if (way == "exit") std::exit(0);
  if (way == "_exit") _exit(0);
  if (way == "quick_exit") std::quick_exit(0);
  return 0;
}
