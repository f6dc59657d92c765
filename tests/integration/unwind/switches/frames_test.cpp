// Frames of every size and kind: deep ones, and such as the compiler lays out in special ways.
#include <pthread.h>

#include <array>
#include <thread>

#include "compared_process.hpp"

namespace {

using namespace alloctap::testing;

void run_on_large_stack(void* (*routine)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{64} << 20U);
  pthread_t thread{};
  REQUIRE(pthread_create(&thread, &attributes, routine, nullptr) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr int kDeep = 100'000;

/// Allocates now and then on the way in and on the way out.
ALLOCTAP_NOINLINE void recurse(int depth, Numbers& numbers, std::uint64_t seldom) {
  if (numbers.next(seldom) == 0) allocate();
  if (depth > 0) recurse(depth - 1, numbers, seldom);
  if (numbers.next(seldom) == 0) allocate();
}

/// Goes in and out in steps of all sizes around `turn` frames.
ALLOCTAP_NOINLINE void swing(int depth, int turn, Numbers& numbers) {
  allocate();
  for (int i = 0; depth < turn && i < 2; ++i) {
    const int step = 1 + static_cast<int>(numbers.next(7));
    if (numbers.next(3) != 0) recurse(step, numbers, 2);
    if (i == 0) swing(depth + 1, turn, numbers);
  }
  allocate();
}

ALLOCTAP_NOINLINE void with_room(std::size_t bytes, int depth) {
  auto* room = static_cast<char*>(escape(__builtin_alloca(bytes)));
  room[0] = 0;
  allocate();
  if (depth > 0) with_room(bytes * 3 % 1009 + 1, depth - 1);
  stay();
}

/// Its frame lies at the same place each time, and keeps its caller's frame pointer.
ALLOCTAP_NOINLINE void inside() {
  escape(__builtin_alloca(16));
  allocate();
  stay();
}

constexpr std::size_t kTogether = 4096;

/// What the innermost function does with its caller's frame pointer, which leads further out.
enum class Innermost : std::uint8_t {
  kSavesPointer,
  kPassesPointerOn,
  /// There is none but the one that the pointer belongs to.
  kUsesPointer,
};

/// Has its frame pointer at another place each time, and its stack pointer at the same.
template <Innermost innermost>
ALLOCTAP_NOINLINE void middle_with_room(std::size_t bytes) {
  escape(__builtin_alloca(bytes));
  if constexpr (innermost == Innermost::kSavesPointer) inside();
  if constexpr (innermost == Innermost::kPassesPointerOn) allocate();
  if constexpr (innermost == Innermost::kUsesPointer) std::free(escape(std::malloc(24)));
  stay();
}

/// Calls from one of two places, with the more room the less the callee takes: what the callee
/// left behind the last time, its return address too, is then in the middle of that room.
template <Innermost innermost>
ALLOCTAP_NOINLINE void outer_with_room(std::size_t bytes, bool first) {
  escape(__builtin_alloca(bytes));
  if (first) {
    middle_with_room<innermost>(kTogether - bytes);
    stay();
  } else {
    middle_with_room<innermost>(kTogether - bytes);
    escape(0);
  }
}

template <Innermost innermost>
void check_moving_pointer() {
  ComparedRun run;
  // From one place, so that no word further out changes; a few times, so that each is remembered.
  for (std::size_t i = 0; i < 900; ++i) {
    const std::size_t stack = i / 5;
    outer_with_room<innermost>(1024 + stack % 3 * 512, stack % 2 == 0);
  }
  run.check_whole(900);
}

template <std::size_t alignment>
ALLOCTAP_NOINLINE void realigned(std::size_t bytes, int depth) {
  alignas(alignment) std::array<char, 100> aligned;
  escape(aligned.data());
  if (bytes > 0) escape(__builtin_alloca(bytes));
  allocate();
  if (depth > 0) realigned<alignment == 512 ? 32 : alignment * 2>(bytes, depth - 1);
  stay();
}

template <std::size_t alignment>
ALLOCTAP_NOINLINE void realigned_plain(int depth) {
  alignas(alignment) std::array<char, 100> aligned;
  escape(aligned.data());
  allocate();
  if (depth > 0) realigned_plain<alignment == 512 ? 32 : alignment * 2>(depth - 1);
  stay();
}

}  // namespace

TEST_CASE("a hundred thousand frames, of which few are kept") {
  ComparedRun run;
  run_on_large_stack([](void*) -> void* {
    Numbers numbers(1);
    recurse(kDeep, numbers, 40);
    return nullptr;
  });
  const StackComparison comparison = run.check_whole(4'000);
  CHECK(comparison.truncated > 3'000);
  CHECK(comparison.deepest == 256);
}

TEST_CASE("a hundred thousand frames, of which as many are kept as can be") {
  ComparedRun run(4000);
  run_on_large_stack([](void*) -> void* {
    Numbers numbers(2);
    recurse(kDeep, numbers, 400);
    return nullptr;
  });
  const StackComparison comparison = run.check_whole(400);
  CHECK(comparison.truncated > 300);
  CHECK(comparison.deepest == 4000);
}

TEST_CASE("recursion in and out in steps, about the most frames that are kept") {
  for (const std::uint32_t most : {1U, 2U, 5U, 30U, 64U}) {
    CAPTURE(most);
    ComparedRun run(most);
    Numbers numbers(most);
    for (int i = 0; i < 20; ++i) swing(0, static_cast<int>(most) + i, numbers);
    CHECK(run.check_whole(1'000).truncated > 100);
  }
}

TEST_CASE("frames of varying size") {
  ComparedRun run;
  for (std::size_t bytes = 1; bytes < 3000; bytes += 37) with_room(bytes, 9);
  run.check_whole(800);
}

TEST_CASE("a frame pointer alone has changed") {
  check_moving_pointer<Innermost::kSavesPointer>();
  check_moving_pointer<Innermost::kPassesPointerOn>();
  check_moving_pointer<Innermost::kUsesPointer>();
}

TEST_CASE("functions that align their stack") {
  ComparedRun run;
  for (std::size_t bytes = 0; bytes < 900; bytes += 41) {
    with_room(bytes + 1, 2);
    realigned<32>(bytes, 8);
    realigned_plain<32>(8);
  }
  run.check_whole(400);
}
