// usage: changed_pages CASE: protects, unmaps, replaces or discards pages of blocks that it gives
// back as they are, which the C library allows, and prints what it finds in them before.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "busy_threads.hpp"

namespace {

using programs::keep;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = std::size_t{1} << 20;

/// Through a pointer that the compiler knows nothing of.
void* (*volatile allocate)(std::size_t, std::size_t) = &std::aligned_alloc;

char* get(std::size_t alignment = kPage, std::size_t bytes = kBytes) {
  auto* const block = static_cast<char*>(allocate(alignment, bytes));
  std::memset(block, 0x5A, bytes);
  keep(block);
  return block;
}

void must(bool is_true, const char* what) {
  if (is_true) return;
  std::perror(what);
  std::_Exit(9);
}

void protect(char* begin, std::size_t bytes, int protection) {
  must(::mprotect(begin, bytes, protection) == 0, "mprotect");
}

char* page_of(char* address) { return address - reinterpret_cast<std::uintptr_t>(address) % kPage; }

void sealed() {
  for (const int protection : {PROT_READ, PROT_READ | PROT_EXEC, PROT_NONE}) {
    for (const std::size_t bytes : {kBytes / 4, kBytes}) {
      char* const block = get(kPage, bytes);
      protect(block, bytes, protection);
      std::free(block);
    }
  }
}

/// As a stack with a guard page, as an arena with pages of code.
void sealed_in_part() {
  for (const int protection : {PROT_READ, PROT_NONE}) {
    for (const std::size_t offset : {std::size_t{0}, kBytes / 2, kBytes - kPage}) {
      char* const block = get();
      protect(block + offset, kPage, protection);
      std::free(block);
    }
  }
  auto* const block = static_cast<char*>(::operator new(kBytes, std::align_val_t{kPage}));
  protect(block, kPage, PROT_NONE);
  ::operator delete(block, std::align_val_t{kPage});
}

/// The page that a block begins in, with what stands before it; and a last one with what follows.
void sealed_beyond() {
  char* block = static_cast<char*>(std::malloc(kBytes));
  protect(page_of(block), kBytes, PROT_READ);
  std::free(block);
  block = get(kPage, kBytes - 100);
  protect(block, kBytes - 100, PROT_NONE);
  std::free(block);
}

void sealed_for_ever() {
  constexpr long kSeal = 462;
  char* const block = get();
  protect(block, kBytes, PROT_READ);
  static_cast<void>(::syscall(kSeal, block, kBytes, 0));
  std::free(block);
}

void sealed_by_key() {
  char* const block = get();
  const int key = ::pkey_alloc(0, PKEY_DISABLE_ACCESS);
  if (key >= 0) must(::pkey_mprotect(block, kBytes, PROT_READ | PROT_WRITE, key) == 0, "pkey");
  std::free(block);
}

/// Looks at the end of the process, too, come across it.
void sealed_and_kept() { protect(get(), kBytes, PROT_NONE); }

void sealed_and_grown() {
  char* block = get();
  protect(block, kBytes, PROT_READ);
  block = static_cast<char*>(std::realloc(block, 2 * kBytes));
  must(block != nullptr && block[0] == 0x5A && block[kBytes - 1] == 0x5A, "realloc");
  std::free(block);
}

char* barrier = nullptr;

void open_barrier(int, siginfo_t* info, void*) {
  if (info->si_addr != barrier + kPage) std::_Exit(8);
  protect(barrier, 2 * kPage, PROT_READ | PROT_WRITE);
}

/// A collector's write barrier, in small blocks and many.
void barriers() {
  struct sigaction action{};
  action.sa_sigaction = &open_barrier;
  action.sa_flags = SA_SIGINFO;
  must(::sigaction(SIGSEGV, &action, nullptr) == 0, "sigaction");
  for (int i = 0; i < 200; ++i) {
    barrier = get(kPage, 32 * kPage);
    protect(barrier, 2 * kPage, PROT_READ);
    *const_cast<volatile char*>(barrier + kPage) = 1;
    must(barrier[0] == 0x5A && barrier[kPage] == 1, "barrier");
    std::free(barrier);
  }
}

void unmapped() {
  for (const std::size_t offset : {std::size_t{0}, kBytes / 2, kBytes - kPage}) {
    char* const block = get();
    must(::munmap(block + offset, kPage) == 0, "munmap");
    std::free(block);
  }
  char* const block = get();
  void* const moved =
      ::mremap(block + kPage, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED,
               ::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  must(moved != MAP_FAILED && *static_cast<char*>(moved) == 0x5A, "mremap");
  std::free(block);
}

/// Whatever is mapped there now, nobody writes it: a file least of all.
void replaced() {
  for (const int kind : {MAP_SHARED, MAP_PRIVATE}) {
    std::FILE* const file = std::tmpfile();
    must(::ftruncate(::fileno(file), kBytes) == 0, "ftruncate");
    char* const block = get();
    void* const part =
        ::mmap(block, kBytes / 2, PROT_READ | PROT_WRITE, kind | MAP_FIXED, ::fileno(file), 0);
    must(part == block, "mmap");
    std::memset(block, 0x77, 100);
    keep(block);
    std::free(block);
    std::array<char, kBytes> content;
    must(std::fread(content.data(), 1, kBytes, file) == kBytes, "fread");
    const char written = kind == MAP_SHARED ? 0x77 : 0;
    must(content[0] == written && content[99] == written && content[100] == 0, "content");
    for (const char byte : content) must(byte == 0 || byte == written, "content");
    std::fclose(file);
  }
}

/// As `replaced`, by pages that were mapped elsewhere before.
void moved_over() {
  for (const std::size_t offset : {std::size_t{0}, kBytes / 2, kBytes - kPage}) {
    char* const block = get();
    void* const page =
        ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(page != MAP_FAILED, "mmap");
    // Written, because pages that are not there are not filled.
    std::memset(page, 0x33, kPage);
    protect(static_cast<char*>(page), kPage, PROT_READ);
    char* const target = block + offset;
    must(::mremap(page, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target, "mremap");
    must(*target == 0x33, "content");
    std::free(block);
  }
}

/// The system counts in whole pages, so what stands behind the block is lost, too.
void discarded() {
  for (const int advice : {MADV_DONTNEED, MADV_FREE}) {
    char* block = get(kPage, kBytes - 100);
    must(::madvise(block, kBytes - 100, advice) == 0, "madvise");
    std::memset(block, 1, kBytes - 100);
    keep(block);
    std::free(block);
    block = get();
    must(::madvise(block, kBytes, advice) == 0, "madvise");
    std::free(block);
  }
}

/// What was protected for a while is looked after as before.
void overrun_after_barrier() {
  char* const block = get();
  protect(block, kBytes, PROT_READ);
  protect(block, kBytes, PROT_READ | PROT_WRITE);
  *const_cast<volatile char*>(block + kBytes) = 1;
  std::free(block);
}

/// So that freed blocks go to the C library at last.
void many() {
  for (int i = 0; i < 300; ++i) {
    sealed();
    keep(std::malloc(100));
  }
}

struct Case {
  std::string_view name;
  void (*run)();
};

constexpr Case kCases[] = {
    {"sealed", sealed},
    {"sealed_in_part", sealed_in_part},
    {"sealed_beyond", sealed_beyond},
    {"sealed_for_ever", sealed_for_ever},
    {"sealed_by_key", sealed_by_key},
    {"sealed_and_kept", sealed_and_kept},
    {"sealed_and_grown", sealed_and_grown},
    {"barriers", barriers},
    {"unmapped", unmapped},
    {"replaced", replaced},
    {"moved_over", moved_over},
    {"discarded", discarded},
    {"overrun_after_barrier", overrun_after_barrier},
    {"many", many},
};

}  // namespace

int main(int, char** arguments) {
  // Each block is a mapping of its own, which the C library only unmaps.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 16);
  for (const Case& each : kCases) {
    if (each.name != arguments[1]) continue;
    each.run();
    std::puts("done");
    return 0;
  }
  return 1;
}
