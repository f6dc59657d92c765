// Prints how many bytes of stack each call takes: its name, "first", "again" or "fiber", and the
// number. "first" is a thread's first call from there, "again" its third; "fiber" is on a fiber of
// ucontext. Bound when it starts, because the loader's own frames are larger than all else.
#include <malloc.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace {

void* volatile block = nullptr;
void* volatile pages = nullptr;
constexpr std::size_t kPages = 64 * 1024;

void call_malloc() { block = std::malloc(100); }
void call_calloc() { block = std::calloc(10, 10); }
void call_realloc() { block = std::realloc(block, 3000); }
void call_memalign() { block = memalign(64, 1000); }
void call_new() { block = ::operator new(100); }
void call_delete() { ::operator delete(block); }
void call_free() { std::free(block); }
void call_strdup() { block = strdup("text"); }
void call_mmap() {
  pages = mmap(nullptr, kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void call_mremap() { pages = mremap(pages, kPages, 2 * kPages, MREMAP_MAYMOVE); }
void call_munmap() { munmap(pages, 2 * kPages); }
void copy_text() {
  static std::array<char, 100> copy;
  const char* volatile text = "text";
  std::strcpy(copy.data(), text);
}

struct Call {
  const char* name;
  void (*make)();
};

constexpr Call kCalls[] = {
    {"malloc", call_malloc}, {"realloc", call_realloc}, {"free", call_free},
    {"calloc", call_calloc}, {"free", call_free},       {"memalign", call_memalign},
    {"free", call_free},     {"new", call_new},         {"delete", call_delete},
    {"strdup", call_strdup}, {"free", call_free},       {"mmap", call_mmap},
    {"mremap", call_mremap}, {"munmap", call_munmap},   {"strcpy", copy_text},
};

constexpr char kPaint = '\xA5';
constexpr std::size_t kPainted = 32 * 1024;

std::size_t count_paint(const volatile char* low, std::size_t bytes) {
  std::size_t painted = 0;
  while (painted < bytes && low[painted] == kPaint) ++painted;
  return painted;
}

/// On the calling thread's stack.
[[gnu::noinline]] std::size_t bytes_taken_here(void (*make)()) {
  constexpr std::size_t kOwnFrame = 128;
  char* const top = static_cast<char*>(__builtin_frame_address(0)) - kOwnFrame;
  volatile char* const low = top - kPainted;
  for (std::size_t i = 0; i < kPainted; ++i) low[i] = kPaint;
  make();
  return kPainted - count_paint(low, kPainted);
}

std::size_t bytes_taken_on_fiber(void (*make)()) {
  static ucontext_t caller;
  static ucontext_t fiber;
  std::vector<char> stack(kPainted, kPaint);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack.data();
  fiber.uc_stack.ss_size = stack.size();
  fiber.uc_link = &caller;
  makecontext(&fiber, make, 0);
  swapcontext(&caller, &fiber);
  return kPainted - count_paint(stack.data(), kPainted);
}

void print_thread() {
  for (const char* when : {"first", "second", "again"}) {
    for (const Call& call : kCalls) {
      std::printf("%s %s %zu\n", call.name, when, bytes_taken_here(call.make));
    }
  }
}

}  // namespace

int main() {
  std::thread(print_thread).join();
  for (const Call& call : kCalls) {
    std::printf("%s fiber %zu\n", call.name, bytes_taken_on_fiber(call.make));
  }
}
