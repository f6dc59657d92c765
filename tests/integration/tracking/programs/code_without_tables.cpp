// usage: code_without_tables frames|no-frames main|thread|fiber: allocates below code that no
// module has, as of a JIT compiler, which keeps frame pointers or does not.
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#define STAY() asm volatile("" : : : "memory")

namespace {

/// Calls its first argument with the others.
using Forwarder = void (*)(void*, void*, void*);

#if defined(__x86_64__)
constexpr unsigned char kWithFrame[] = {
    0x55,              // push %rbp
    0x48, 0x89, 0xe5,  // mov %rsp, %rbp
    0x48, 0x89, 0xf8,  // mov %rdi, %rax
    0x48, 0x89, 0xf7,  // mov %rsi, %rdi
    0x48, 0x89, 0xd6,  // mov %rdx, %rsi
    0xff, 0xd0,        // call *%rax
    0x5d,              // pop %rbp
    0xc3,              // ret
};
/// With a number in the frame pointer that no frame is at.
constexpr unsigned char kWithoutFrame[] = {
    0x55,                          // push %rbp
    0xbd, 0x2a, 0x00, 0x00, 0x00,  // mov $42, %ebp
    0x48, 0x89, 0xf8,              // mov %rdi, %rax
    0x48, 0x89, 0xf7,              // mov %rsi, %rdi
    0x48, 0x89, 0xd6,              // mov %rdx, %rsi
    0xff, 0xd0,                    // call *%rax
    0x5d,                          // pop %rbp
    0xc3,                          // ret
};
#else
constexpr std::uint32_t kWithFrame[] = {
    0xa9be7bfd,  // stp x29, x30, [sp, #-32]!
    0x910003fd,  // mov x29, sp
    0xaa0003e8,  // mov x8, x0
    0xaa0103e0,  // mov x0, x1
    0xaa0203e1,  // mov x1, x2
    0xd63f0100,  // blr x8
    0xa8c27bfd,  // ldp x29, x30, [sp], #32
    0xd65f03c0,  // ret
};
constexpr std::uint32_t kWithoutFrame[] = {
    0xa9be7bfd,  // stp x29, x30, [sp, #-32]!
    0xd280055d,  // mov x29, #42
    0xaa0003e8,  // mov x8, x0
    0xaa0103e0,  // mov x0, x1
    0xaa0203e1,  // mov x1, x2
    0xd63f0100,  // blr x8
    0xa8c27bfd,  // ldp x29, x30, [sp], #32
    0xd65f03c0,  // ret
};
#endif

/// Code in pages of its own.
template <class Code>
Forwarder make_forwarder(const Code& code) {
  constexpr std::size_t kPage = 4096;
  void* const pages =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(pages, code, sizeof code);
  mprotect(pages, kPage, PROT_READ | PROT_EXEC);
  auto* const begin = static_cast<char*>(pages);
  __builtin___clear_cache(begin, begin + sizeof code);
  return reinterpret_cast<Forwarder>(pages);
}

Forwarder outer;
Forwarder inner;

}  // namespace

// Outside, so that their names are short.
[[gnu::noinline]] static void allocate_below(void* bytes, void*) {
  void* volatile block = std::malloc(reinterpret_cast<std::uintptr_t>(bytes));
  static_cast<void>(block);
}

[[gnu::noinline]] static void call_with_tables(void* bytes, void* unused) {
  inner(reinterpret_cast<void*>(&allocate_below), bytes, unused);
  STAY();
}

[[gnu::noinline]] static void call_code(std::uintptr_t bytes) {
  outer(reinterpret_cast<void*>(&call_with_tables), reinterpret_cast<void*>(bytes), nullptr);
  STAY();
}

[[gnu::noinline]] static void allocate_often() {
  // Or else there is a copy of the function for that number.
  volatile std::uintptr_t bytes = 1000;
  for (int i = 0; i < 100; ++i) call_code(bytes);
}

static void run_on_fiber() {
  static ucontext_t caller;
  static ucontext_t fiber;
  static std::vector<char> stack(64 * 1024);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack.data();
  fiber.uc_stack.ss_size = stack.size();
  fiber.uc_link = &caller;
  makecontext(&fiber, allocate_often, 0);
  swapcontext(&caller, &fiber);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const bool frames = std::string_view(arguments[1]) == "frames";
  outer = frames ? make_forwarder(kWithFrame) : make_forwarder(kWithoutFrame);
  inner = frames ? make_forwarder(kWithFrame) : make_forwarder(kWithoutFrame);
  const std::string_view place = arguments[2];
  if (place == "main") allocate_often();
  if (place == "thread") std::thread(allocate_often).join();
  if (place == "fiber") run_on_fiber();
  std::puts("done");
}
