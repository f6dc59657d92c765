// 17, 18: the C library's malloc and free, which threads call while they are patched, and whose
// replacement calls them.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <execinfo.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/support/busy_threads.hpp"
#include "tests/support/mapped_files.hpp"

namespace {

using alloctap::FunctionPatch;
using alloctap::testing::BusyThreads;
using alloctap::testing::mapped_file_at;

constexpr unsigned kThreads = 8;

volatile int depth = 0;
std::size_t outer_calls = 0;
void* (*original_malloc)(std::size_t) = nullptr;

int count_module(dl_phdr_info*, std::size_t, void* count) {
  ++*static_cast<int*>(count);
  return 0;
}

/// Does in a hook of malloc what allocates.
void allocate_in_hook() {
  std::map<int, std::string> map;
  for (int i = 0; i < 10; ++i) map[i] = std::string(100, 'x');
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%zu %f", map.size(), 1.5);
  int modules = 0;
  dl_iterate_phdr(&count_module, &modules);
  std::array<void*, 8> here{};
  backtrace(here.data(), static_cast<int>(here.size()));
}

void* hooked_malloc(std::size_t bytes) {
  if (depth == 0) {
    depth = 1;
    ++outer_calls;
    allocate_in_hook();
    depth = 0;
  }
  return original_malloc(bytes);
}

}  // namespace

TEST_CASE("a replacement of malloc may do what calls malloc") {
  const auto libc_malloc =
      reinterpret_cast<void* (*)(std::size_t)>(alloctap::os::default_symbol("malloc"));
  auto patch = FunctionPatch::prepare(libc_malloc, &hooked_malloc);
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original_malloc = patch->original(libc_malloc);
  REQUIRE(patch->enable().ok());
  const std::size_t before = outer_calls;
  for (int i = 0; i < 100; ++i) {
    void* volatile block = std::malloc(10);
    std::free(block);
  }
  const std::size_t after = outer_calls;
  REQUIRE(patch->disable().ok());
  CHECK(after - before == 100);
}

namespace {

/// malloc and free of the C library, whoever else defines them in this program.
struct Heap {
  static inline void* (*allocate)(std::size_t) = nullptr;
  static inline void (*release)(void*) = nullptr;
  static inline std::atomic<long> allocated{0};
  static inline std::atomic<long> released{0};
  static void* count_allocation(std::size_t bytes) {
    allocated.fetch_add(1, std::memory_order_relaxed);
    return allocate(bytes);
  }
  static void count_release(void* block) {
    released.fetch_add(1, std::memory_order_relaxed);
    release(block);
  }
};

template <class Function>
FunctionPatch prepare_library_function(const char* name, Function* replacement,
                                       Function*& original) {
  void* const library = dlopen("libc.so.6", RTLD_LAZY);
  auto* const function = reinterpret_cast<Function*>(dlsym(library, name));
  auto patch = FunctionPatch::prepare(function, replacement);
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original = patch->original(function);
  return *std::move(patch);
}

}  // namespace

TEST_CASE("malloc and free of the C library are patched while 8 threads allocate") {
  auto allocate = prepare_library_function("malloc", &Heap::count_allocation, Heap::allocate);
  auto release = prepare_library_function("free", &Heap::count_release, Heap::release);
  BusyThreads callers(kThreads, [](unsigned) {
    void* volatile block = std::malloc(100);
    std::free(block);
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
  CHECK(mapped_file_at(dlsym(dlopen("libc.so.6", RTLD_LAZY), "malloc")).is_as_in_file());

  REQUIRE(allocate.enable().ok());
  const long before = Heap::allocated;
  for (int i = 0; i < 1000; ++i) {
    void* volatile block = std::malloc(100);
    std::free(block);
  }
  CHECK(Heap::allocated - before == 1000);
}
