#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "../allocation_ways.hpp"
#include "../threads.hpp"
#include "families.hpp"

namespace corpus {
namespace {

char* make() { return portable_ways().front().make(); }

/// A block whose address stands nowhere: of it all bits are turned over.
[[gnu::noinline]] std::uintptr_t make_disguised() {
  return ~reinterpret_cast<std::uintptr_t>(make());
}

/// 1 once the register has what it is to hold.
constinit std::atomic<std::uint32_t> is_in_register{0};

/// Waits for ever with the address in a register that calls keep, and nowhere else; or with the
/// disguised one, if it is `cleared`.
void wait_with_register(std::uintptr_t disguised, bool cleared) {
  const std::uintptr_t mask = cleared ? 0 : ~std::uintptr_t{0};
#if defined(__x86_64__)
  asm volatile(
      "mov %[disguised], %%r12\n\t"
      "xor %[mask], %%r12\n\t"
      "movl $1, (%[told])\n"
      "1:\n\t"
      "xor %%edi, %%edi\n\t"
      "xor %%esi, %%esi\n\t"
      "xor %%edx, %%edx\n\t"
      "xor %%r10d, %%r10d\n\t"
      "mov %[ppoll], %%eax\n\t"
      "syscall\n\t"
      "jmp 1b"
      :
      : [disguised] "r"(disguised), [mask] "r"(mask), [told] "r"(&is_in_register),
        [ppoll] "i"(SYS_ppoll)
      : "r12", "rax", "rcx", "r11", "rdi", "rsi", "rdx", "r10", "memory");
#elif defined(__aarch64__)
  asm volatile(
      "eor x20, %[disguised], %[mask]\n\t"
      "mov w0, #1\n\t"
      "stlr w0, [%[told]]\n"
      "1:\n\t"
      "mov x0, #0\n\t"
      "mov x1, #0\n\t"
      "mov x2, #0\n\t"
      "mov x3, #0\n\t"
      "mov x8, %[ppoll]\n\t"
      "svc #0\n\t"
      "b 1b"
      :
      : [disguised] "r"(disguised), [mask] "r"(mask), [told] "r"(&is_in_register),
        [ppoll] "i"(SYS_ppoll)
      : "x20", "x0", "x1", "x2", "x3", "x8", "memory");
#else
#error "Write how this processor waits with a value in a register."
#endif
}

void hold_by_register(bool cleared) {
  start_living_thread([disguised = make_disguised(), cleared](Signal& is_ready) {
    is_ready.send();
    wait_with_register(disguised, cleared);
  });
  while (is_in_register.load(std::memory_order_acquire) == 0) std::this_thread::yield();
}

void hold_by_mapping(bool cleared) {
  void* const mapping =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapping != MAP_FAILED, "a page is mapped");
  static char* volatile* volatile holder = nullptr;
  holder = static_cast<char* volatile*>(mapping);
  *holder = make();
  if (cleared) {
    *holder = nullptr;
  }
}

void hold_by_thread_key(bool cleared) {
  pthread_key_t key{};
  pthread_key_create(&key, nullptr);
  pthread_setspecific(key, make());
  if (cleared) {
    pthread_setspecific(key, nullptr);
  }
}

struct Holder {
  const char* name;
  void (*hold)(bool cleared);
};

constexpr Holder kHolders[] = {
    {"register_of_other_thread", hold_by_register},
    {"mapped_page", hold_by_mapping},
    {"thread_key", hold_by_thread_key},
};

}  // namespace

void add_posix_holders(Cases& cases) {
  for (const Holder& holder : kHolders) {
    for (const bool cleared : {false, true}) {
      cases.add({"held", holder.name, cleared ? "cleared" : "good"}, cleared ? kLeaked : kHeld,
                [&](auto&) {
                  holder.hold(cleared);
                  scrub_stack();
                });
    }
  }
}

}  // namespace corpus
