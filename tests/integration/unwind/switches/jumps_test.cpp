// Stacks that are left otherwise than by returning: exceptions, longjmp, tail calls.
#include <coroutine>
#include <csetjmp>
#include <stdexcept>

#include "compared_process.hpp"

namespace {

using namespace alloctap::testing;

/// Throws from `depth` calls further in, to the one that is `caught_at` calls before the end.
ALLOCTAP_NOINLINE void throw_from(int depth, int caught_at) {
  allocate();
  if (depth == 0) throw std::runtime_error("a message that is too long to be kept in place");
  if (depth != caught_at) {
    throw_from(depth - 1, caught_at);
    return stay();
  }
  try {
    throw_from(depth - 1, caught_at);
  } catch (const std::exception&) {
    allocate();
  }
  allocate();
}

struct Allocating {
  Allocating() { allocate(); }
  ~Allocating() { allocate(); }
};

ALLOCTAP_NOINLINE void throw_through_destructors(int depth) {
  const Allocating object;
  if (depth > 0) throw_through_destructors(depth - 1);
  if (escape(depth) == 0) throw depth;
}

ALLOCTAP_NOINLINE void jump_from(int depth, jmp_buf& target) {
  allocate();
  if (depth > 0) jump_from(depth - 1, target);
  if (escape(depth) == 0) std::longjmp(target, 1);
}

ALLOCTAP_NOINLINE void jump_with_mask_from(int depth, sigjmp_buf& target) {
  allocate();
  if (depth > 0) jump_with_mask_from(depth - 1, target);
  if (escape(depth) == 0) siglongjmp(target, 1);
}

ALLOCTAP_NOINLINE void jump_out_of(int depth) {
  jmp_buf target;
  if (setjmp(target) == 0) jump_from(depth, target);
  allocate();
  sigjmp_buf with_mask;
  if (sigsetjmp(with_mask, 1) == 0) jump_with_mask_from(depth, with_mask);
  allocate();
}

/// Two that are alike but for their addresses, so that a frame further in looks the same.
ALLOCTAP_NOINLINE void twin_one(void (*function)()) {
  function();
  stay();
}
ALLOCTAP_NOINLINE void twin_two(void (*function)()) {
  function();
  escape(0);
}

ALLOCTAP_NOINLINE void last() { allocate(); }
ALLOCTAP_NOINLINE void jumps_to_last() { return last(); }
ALLOCTAP_NOINLINE void jumps_on() { return jumps_to_last(); }
ALLOCTAP_NOINLINE void calls_last() {
  last();
  stay();
}

/// A coroutine that allocates each time it is resumed.
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Task allocates(int times) {
  for (int i = 0; i < times; ++i) {
    allocate();
    co_await std::suspend_always{};
  }
}

ALLOCTAP_NOINLINE void resume_from(int depth, Task& task) {
  if (depth > 0) {
    resume_from(depth - 1, task);
    return stay();
  }
  task.handle.resume();
}

}  // namespace

TEST_CASE("exceptions leave many frames at once, to any depth") {
  ComparedRun run;
  for (int depth = 1; depth < 60; depth += 3) {
    for (int caught_at = 1; caught_at <= depth; ++caught_at) throw_from(depth, caught_at);
  }
  run.check_whole(10'000);
}

TEST_CASE("destructors allocate while an exception is on its way") {
  ComparedRun run;
  for (int depth = 0; depth < 40; ++depth) {
    try {
      throw_through_destructors(depth);
    } catch (int) {
      allocate();
    }
  }
  run.check_whole(1'000);
}

TEST_CASE("longjmp leaves many frames at once") {
  ComparedRun run;
  for (int i = 0; i < 200; ++i) jump_out_of(i % 37);
  run.check_whole(2'000);
}

TEST_CASE("frames that look alike further in have other callers") {
  ComparedRun run;
  for (int i = 0; i < 200; ++i) {
    (i % 3 == 0 ? twin_one : twin_two)(&calls_last);
    (i % 2 == 0 ? twin_two : twin_one)(&calls_last);
  }
  run.check_whole(400);
}

TEST_CASE("a jump takes the place of a call") {
  ComparedRun run;
  for (int i = 0; i < 100; ++i) {
    twin_one(&last);
    twin_one(&jumps_to_last);
    twin_one(&jumps_on);
    twin_one(&calls_last);
  }
  run.check_whole(400);
}

TEST_CASE("coroutines are resumed from other stacks than they were suspended on") {
  ComparedRun run;
  Task one = allocates(50);
  Task other = allocates(50);
  for (int i = 0; i < 50; ++i) {
    resume_from(i % 7, one);
    resume_from(i % 5, other);
  }
  one.handle.destroy();
  other.handle.destroy();
  run.check_whole(100);
}
