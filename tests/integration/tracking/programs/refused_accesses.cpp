// usage: refused_accesses FAMILY ACCESS OFFSET [HANDLER]
// Gets a block of 32 bytes from FAMILY and accesses it at OFFSET, which is a number of bytes, or
// "freed": the first byte, once the block is freed. ACCESS is "read" or "write". Prints "done" and
// ends with 3. HANDLER says what it does about SIGSEGV.
// usage: refused_accesses live COUNT
// Holds COUNT blocks of 32 bytes at a time, uses and frees them, maps a page, and prints "done".
// usage: refused_accesses fork
// Its child reads behind a block; prints how that ended, and "done".
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kSize = 32;

template <class Pointer>
Pointer hidden(Pointer pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

const char* accessed = nullptr;
sigjmp_buf before_access;

void say(std::string_view text) { static_cast<void>(!::write(1, text.data(), text.size())); }

void end(int) {
  say("handled\n");
  ::_exit(7);
}
void end_with_address(int, siginfo_t* info, void*) {
  say(info->si_addr == accessed ? "handled there\n" : "handled elsewhere\n");
  ::_exit(7);
}
void jump(int) { siglongjmp(before_access, 1); }

void handle_by(std::string_view handler) {
  struct sigaction action{};
  action.sa_handler = handler == "jumps" ? &jump : &end;
  if (handler == "informed") {
    action.sa_sigaction = &end_with_address;
    action.sa_flags = SA_SIGINFO;
  }
  if (handler == "once") action.sa_flags = static_cast<int>(SA_RESETHAND);
  if (handler == "signal") {
    static_cast<void>(std::signal(SIGSEGV, &end));
  } else if (!handler.empty()) {
    ::sigaction(SIGSEGV, &action, nullptr);
  }
  struct sigaction shown{};
  ::sigaction(SIGSEGV, nullptr, &shown);
  const bool is_own = handler.empty()         ? shown.sa_handler == SIG_DFL
                      : handler == "informed" ? shown.sa_sigaction == &end_with_address
                                              : shown.sa_handler == action.sa_handler;
  if (!is_own) say("another handler is shown\n");
}

__attribute__((noinline)) char* get_block(std::string_view family) {
  void* block = nullptr;
  if (family == "malloc") block = std::malloc(kSize);
  if (family == "calloc") block = std::calloc(4, kSize / 4);
  if (family == "realloc") block = std::realloc(hidden(std::malloc(1)), kSize);
  if (family == "reallocarray") block = ::reallocarray(nullptr, 2, kSize / 2);
  if (family == "strdup") block = ::strdup("a text of thirty-one characters");
  if (family == "strndup") block = ::strndup("a text of thirty-one characters, or more", kSize - 1);
  if (family == "aligned_alloc") block = std::aligned_alloc(32, kSize);
  if (family == "memalign") block = ::memalign(16, kSize);
  if (family == "new") block = ::operator new(kSize);
  if (family == "new[]") block = ::operator new[](kSize);
  if (family == "nothrow_new") block = ::operator new(kSize, std::nothrow);
  if (family == "aligned_new") block = ::operator new(kSize, std::align_val_t{32});
  if (family == "posix_memalign" && ::posix_memalign(&block, 32, kSize) != 0) return nullptr;
  return hidden(static_cast<char*>(block));
}

__attribute__((noinline)) void give_back(std::string_view family, void* block) {
  if (family == "new" || family == "nothrow_new") {
    ::operator delete(hidden(block));
  } else if (family == "new[]") {
    ::operator delete[](hidden(block));
  } else if (family == "aligned_new") {
    ::operator delete(hidden(block), std::align_val_t{32});
  } else {
    std::free(hidden(block));
  }
  // No call is the last thing that it does.
  __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) void access(volatile char* at, bool writes) {
  accessed = const_cast<const char*>(at);
  if (writes) {
    *at = 7;
  } else {
    static_cast<void>(*at);
  }
}

void misuse(std::string_view family, bool writes, std::string_view offset) {
  char* const block = get_block(family);
  const bool has_content = family == "strdup" || family == "strndup";
  if (family == "calloc" && block[kSize - 1] != 0) say("calloc leaves content\n");
  if (has_content && block[kSize - 2] != 's' && block[kSize - 2] != ',') say("no copy\n");
  if (::malloc_usable_size(block) < kSize) say("too small\n");
  for (std::size_t i = 0; i < kSize; ++i) hidden(block)[i] = 1;
  if (offset == "freed") {
    give_back(family, block);
    access(hidden(block), writes);
    return say("");
  }
  access(hidden(block) + std::stol(std::string(offset)), writes);
  give_back(family, block);
}

int hold(std::size_t count) {
  std::vector<char*> blocks(count);
  for (char*& block : blocks) block = hidden(static_cast<char*>(std::malloc(kSize)));
  for (char* block : blocks) std::memset(block, 1, kSize);
  for (int i = 0; i < 1000; ++i) {
    void* const page = ::mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) say("no mapping is left\n");
  }
  for (char* block : blocks) std::free(block);
  std::puts("done");
  return 3;
}

int fork_and_fault() {
  const pid_t child = ::fork();
  if (child == 0) {
    misuse("malloc", false, "32");
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("child %s\ndone\n",
              WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? "died" : "lived");
  return 3;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view first = arguments[1];
  if (first == "live") return hold(std::stoul(arguments[2]));
  if (first == "fork") return fork_and_fault();
  handle_by(count > 4 ? arguments[4] : "");
  if (sigsetjmp(before_access, 1) == 0) {
    const bool jumps = count > 4 && std::string_view(arguments[4]) == "jumps";
    const auto work = [&] {
      misuse(first, std::string_view(arguments[2]) == "write", arguments[3]);
    };
    // A jump stays on its thread.
    if (jumps) {
      work();
    } else {
      std::thread(work).join();
    }
  }
  std::puts("done");
  return 3;
}
