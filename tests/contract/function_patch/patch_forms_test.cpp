// 9, 10, 11, 13, 14: the result of each form before, during and after, and when it is patched
// again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/contract/function_patch/targets.hpp"
#include "tests/support/mapped_files.hpp"

namespace {

using alloctap::FunctionPatch;

/// What a target returns beyond its argument.
struct Form {
  const char* name;
  Target function;
  const std::byte* end;
  int added;
};

Target original = nullptr;
constexpr int kMark = 1000;

extern "C" TARGET_ABI int helper_of_register(int x) { return x + 7; }

/// The second argument is for target_call_register, and must arrive.
TARGET_ABI int replacement(int x, TargetHelper second) {
  return call_target(original, x, second) + kMark;
}

int call(const Form& form, int x) { return call_target(form.function, x, &helper_of_register); }

std::span<const Form> forms() {
#define FORM(name, added) {#name, &target_##name, target_##name##_end, added},
  static constexpr Form all[] = {FORM_TARGETS(FORM)};
#undef FORM
  return all;
}

std::vector<std::byte> bytes_of(const Form& form) {
  const auto* start = reinterpret_cast<const std::byte*>(form.function);
  return {start, form.end + 16};
}

/// What may be done at the address, as in /proc/self/maps.
std::string protection_at(const void* address) {
  const auto regions = alloctap::MemoryRegions::read();
  const auto* const region = regions.find(reinterpret_cast<std::uintptr_t>(address));
  if (region == nullptr) return "";
  return {region->readable ? 'r' : '-', region->writable ? 'w' : '-',
          region->executable ? 'x' : '-'};
}

void check_results(const Form& form, int added) {
  for (const int x : {0, 1, 35, -5}) CHECK(call(form, x) == x + form.added + added);
}

FunctionPatch prepare(const Form& form) {
  const auto* start = reinterpret_cast<const std::byte*>(form.function);
  auto patch = FunctionPatch::prepare(
      {.address = start, .bytes = static_cast<std::size_t>(form.end - start), .name = form.name},
      reinterpret_cast<const void*>(&replacement));
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  return *std::move(patch);
}

}  // namespace

TEST_CASE("every form of entry is patched, restored and patched again") {
  for (const Form& form : forms()) {
    INFO(std::string(form.name));
    const auto before = bytes_of(form);
    check_results(form, 0);
    {
      FunctionPatch patch = prepare(form);
      CHECK(bytes_of(form) == before);
      original = patch.original(form.function);
      for (int round = 0; round < 2; ++round) {
        REQUIRE(patch.enable().ok());
        CHECK(patch.is_enabled());
        check_results(form, kMark);
        CHECK(protection_at(reinterpret_cast<const void*>(form.function)) == "r-x");
        CHECK_FALSE(alloctap::testing::has_open_pages());
        REQUIRE(patch.disable().ok());
        CHECK(bytes_of(form) == before);
        check_results(form, 0);
      }
      REQUIRE(patch.enable().ok());
    }
    CHECK(bytes_of(form) == before);
    check_results(form, 0);
    CHECK(protection_at(reinterpret_cast<const void*>(form.function)) == "r-x");
  }
}

TEST_CASE("the landing pad of a patched function stays") {
  constexpr std::size_t kPadBytes = 4;
  const Form form{"landing_pad", &target_landing_pad, target_landing_pad_end, 7};
  const auto before = bytes_of(form);
  FunctionPatch patch = prepare(form);
  original = patch.original(&target_landing_pad);
  REQUIRE(patch.enable().ok());
  const auto after = bytes_of(form);
  CHECK(std::equal(after.begin(), after.begin() + kPadBytes, before.begin()));
  CHECK(after != before);
}

TEST_CASE("the island of a function is used again") {
  const Form form{"pushes", &target_pushes, target_pushes_end, 7};
  const Target first = prepare(form).original(form.function);
  const Target second = prepare(form).original(form.function);
  CHECK((first == second));
}

TEST_CASE("what leads to the replacement leads to the original until there is one") {
  const Form form{"far_thunk", &target_far_thunk, target_far_thunk_end, 7};
  const auto* start = reinterpret_cast<const std::byte*>(form.function);
  const alloctap::PatchTarget target{.address = start,
                                     .bytes = static_cast<std::size_t>(form.end - start)};
  const FunctionPatch patch = prepare(form);
  const auto regions = alloctap::MemoryRegions::read();
  const auto* const record =
      alloctap::PatchRecords::find(alloctap::arch::EntryPatch::analyze(target.code(regions)));
  REQUIRE(record != nullptr);
  const auto trampoline = reinterpret_cast<std::uintptr_t>(patch.original(form.function));
  CHECK(record->destination == trampoline);
}

TEST_CASE("600 functions of one module are patched at once") {
  std::vector<FunctionPatch> patches;
  for (int i = 0; i < kManyTargets; ++i) {
    const std::byte* start = target_many + static_cast<std::size_t>(i) * kManyBytes;
    auto patch = FunctionPatch::prepare({.address = start, .bytes = kManyBytes},
                                        reinterpret_cast<const void*>(&replacement));
    INFO(i, ": ", std::string(patch.status().message()));
    REQUIRE(patch.ok());
    REQUIRE(patch->enable().ok());
    patches.push_back(*std::move(patch));
  }
  int wrong = 0;
  for (int i = 0; i < kManyTargets; ++i) {
    const std::byte* start = target_many + static_cast<std::size_t>(i) * kManyBytes;
    const auto function = reinterpret_cast<Target>(reinterpret_cast<std::uintptr_t>(start));
    original = patches[static_cast<std::size_t>(i)].original(function);
    if (function(5, nullptr) != 5 + i + kMark) ++wrong;
  }
  CHECK(wrong == 0);
}
