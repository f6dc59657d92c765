// 17: functions that threads run while they are patched and restored.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/contract/function_patch/targets.hpp"
#include "tests/support/busy_threads.hpp"
#include "tests/support/code_in_file.hpp"

namespace {

using alloctap::FunctionPatch;
using alloctap::testing::BusyThreads;

constexpr unsigned kThreads = 8;
/// Of functions that lie across two words: each change stops every thread where the system has no
/// better way, and under Wine that takes some 10 ms for each.
#if defined(_WIN32)
constexpr int kTogglesAcrossWords = 100;
#else
constexpr int kTogglesAcrossWords = 100'000;
#endif
constexpr int kToggles = 100'000;
constexpr int kMark = 1000;

/// A target, and the replacement that knows its original.
template <Target kTarget>
struct Toggled {
  static inline std::atomic<Target> original{nullptr};
  TARGET_ABI static int replacement(int x, TargetHelper helper) {
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

/// Whether the jump would: of x86-64, the only one whose targets do not begin with a word.
bool lies_across_words(Target target) {
  return reinterpret_cast<std::uintptr_t>(target) % 8 + std::tuple_size_v<JumpBytes> > 8;
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
  TARGET_ABI static int helper(int x) { return x + 7; }
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
    const std::size_t number = static_cast<std::size_t>(i / 2) % patches.size();
    if (i >= kTogglesAcrossWords && lies_across_words(targets[number])) continue;
    FunctionPatch& patch = patches[number];
    if (!(i % 2 == 0 ? patch.enable() : patch.disable()).ok()) ++failed;
  }
  callers.stop();
  CHECK(failed == 0);
  CHECK(results.wrong == 0);
  CHECK(results.patched > 0);
  CHECK(results.unpatched > 0);
  CHECK(alloctap::testing::code_is_as_in_file(reinterpret_cast<const void*>(&target_pushes)));
}
