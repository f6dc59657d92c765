// 17: functions that threads run while they are patched and restored.
#include <absl/status/status.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "alloctap/hook/function_patch.hpp"
#include "tests/contract/function_patch/targets.hpp"
#include "tests/support/busy_threads.hpp"
#include "tests/support/mapped_files.hpp"

namespace {

using alloctap::FunctionPatch;
using alloctap::testing::BusyThreads;
using alloctap::testing::mapped_file_at;

constexpr unsigned kThreads = 8;
constexpr int kToggles = 100'000;
constexpr int kMark = 1000;

/// A target, and the replacement that knows its original.
template <Target kTarget>
struct Toggled {
  static inline std::atomic<Target> original{nullptr};
  static int replacement(int x, TargetHelper helper) {
    return call_target(original.load(std::memory_order_relaxed), x, helper) + kMark;
  }
};

template <Target kTarget>
FunctionPatch prepare(const std::byte* end) {
  const auto* start = reinterpret_cast<const std::byte*>(kTarget);
  auto patch =
      FunctionPatch::prepare({.address = start, .bytes = static_cast<std::size_t>(end - start)},
                             reinterpret_cast<const void*>(&Toggled<kTarget>::replacement));
  REQUIRE(patch.ok());
  Toggled<kTarget>::original = patch->original(kTarget);
  return *std::move(patch);
}

/// How often calls of targets returned what.
struct Results {
  std::atomic<long> unpatched{0};
  std::atomic<long> patched{0};
  std::atomic<long> wrong{0};

  void call_all(const std::vector<Target>& targets) {
    std::array<long, 3> counts{};
    for (int x = 0; x < 100; ++x) {
      for (const Target target : targets) {
        const int result = call_target(target, x, &helper);
        ++counts[result == x + 7 ? 0U : result == x + 7 + kMark ? 1U : 2U];
      }
    }
    unpatched += counts[0];
    patched += counts[1];
    wrong += counts[2];
  }
  static int helper(int x) { return x + 7; }
};

}  // namespace

TEST_CASE("8 threads run functions that are patched and restored 100,000 times") {
  std::vector<FunctionPatch> patches;
#define PREPARE(name) patches.push_back(prepare<&target_##name>(target_##name##_end));
  TOGGLED_TARGETS(PREPARE)
#undef PREPARE
#define ADDRESS(name) &target_##name,
  const std::vector<Target> targets{TOGGLED_TARGETS(ADDRESS)};
#undef ADDRESS
  Results results;
  BusyThreads callers(kThreads, [&](unsigned) { results.call_all(targets); });
  int failed = 0;
  for (int i = 0; i < kToggles; ++i) {
    FunctionPatch& patch = patches[static_cast<std::size_t>(i / 2) % patches.size()];
    if (!(i % 2 == 0 ? patch.enable() : patch.disable()).ok()) ++failed;
  }
  callers.stop();
  CHECK(failed == 0);
  CHECK(results.wrong == 0);
  CHECK(results.patched > 0);
  CHECK(results.unpatched > 0);
  CHECK(mapped_file_at(reinterpret_cast<const void*>(&target_pushes)).is_as_in_file());
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
