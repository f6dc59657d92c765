// 23: what passes through a patched function.
#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/hook/inline/patch_target.hpp"
#include "tests/contract/function_patch/native_call.hpp"
#include "tests/contract/function_patch/targets.hpp"
#include "tests/support/system_backtrace.hpp"

/// What `target_wide` jumps to.
extern "C" TARGET_ABI double wide_body(int a, int b, int c, int d, int e, int f, int g, int h,
                                       double i, double j, double k, double l, double m, double n,
                                       double o, double p, double q, double r) {
  return a + 2. * b + 3. * c + 4. * d + 5. * e + 6. * f + 7. * g + 8. * h + 9 * i + 10 * j +
         11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r;
}

namespace {

using alloctap::FunctionPatch;

/// The caller of `note_frames` was called by displaced code: what the stack was then.
std::array<void*, 32> frames{};
std::size_t frame_count = 0;

int note_frames(int x) {
  frame_count = alloctap::testing::system_backtrace(frames);
  return x + 7;
}

int throw_number(int x) {
  if (x >= 0) throw std::runtime_error(std::to_string(x));
  return x + 7;
}

NativeTarget original = nullptr;
int forward(int x, NativeHelper helper) { return call_native(original, x, helper) + 1000; }

FunctionPatch patch_native_call() {
  const auto* start = reinterpret_cast<const std::byte*>(target_native_call);
  const auto bytes = static_cast<std::size_t>(target_native_call_end - start);
  auto patch = FunctionPatch::prepare({.address = start, .bytes = bytes},
                                      reinterpret_cast<const void*>(&forward));
  REQUIRE(patch.ok());
  original = patch->original(target_native_call);
  REQUIRE(patch->enable().ok());
  return *std::move(patch);
}

WideTarget original_wide = nullptr;

TARGET_ABI double forward_wide(int a, int b, int c, int d, int e, int f, int g, int h, double i,
                               double j, double k, double l, double m, double n, double o, double p,
                               double q, double r) {
  errno = ERANGE;
  return original_wide(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r) + 0.5;
}

}  // namespace

TEST_CASE("a call that was displaced returns to the function, and the stack shows nothing else") {
  const FunctionPatch patch = patch_native_call();
  CHECK(call_native(target_native_call, 1, &note_frames) == 1008);
  const auto is_in = [](const void* frame) {
    return frame > reinterpret_cast<const void*>(target_native_call) &&
           frame < target_native_call_end;
  };
  REQUIRE(frame_count > 3);
  CHECK(is_in(frames[1]));
  // The next one is the replacement: no trampoline and no stub between.
  CHECK(frames[2 + kCallFrames] > reinterpret_cast<const void*>(&forward));
}

TEST_CASE("exceptions pass through displaced calls") {
  const FunctionPatch patch = patch_native_call();
  CHECK_THROWS_WITH(call_native(target_native_call, 42, &throw_number), "42");
  CHECK(call_native(target_native_call, -1, &throw_number) == 1006);
}

TEST_CASE("all kinds of arguments arrive, and errno is the replacement's") {
  const auto* start = reinterpret_cast<const std::byte*>(&target_wide);
  const auto bytes = static_cast<std::size_t>(target_wide_end - start);
  auto patch = FunctionPatch::prepare({.address = start, .bytes = bytes},
                                      reinterpret_cast<const void*>(&forward_wide));
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original_wide = patch->original(&target_wide);
  const WideTarget volatile call = &target_wide;
  const double expected = call(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
  REQUIRE(patch->enable().ok());
  errno = 0;
  CHECK(call(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18) == expected + 0.5);
  CHECK(errno == ERANGE);
}

TEST_CASE("thunks are followed to the function, through words and over each other") {
  const auto end_of = [](Target target) {
    return alloctap::follow_thunks(reinterpret_cast<const void*>(target));
  };
  CHECK(end_of(&target_thunk) != reinterpret_cast<const void*>(&target_thunk));
  const void* const function = end_of(&target_word_thunk);
  CHECK(reinterpret_cast<Target>(reinterpret_cast<std::uintptr_t>(function))(1, nullptr) == 8);
  CHECK(function != reinterpret_cast<const void*>(&target_word_thunk));
  CHECK(end_of(&target_far_thunk) == function);
  CHECK(end_of(&target_pushes) == reinterpret_cast<const void*>(&target_pushes));
  CHECK(end_of(&target_unbound_thunk) == reinterpret_cast<const void*>(&target_unbound_thunk));
  CHECK(end_of(&target_endless_thunk) == reinterpret_cast<const void*>(&target_endless_thunk));
  CHECK(alloctap::follow_thunks(nullptr) == nullptr);
}
