// 17: threads that stand in a function, wherever that is, while it is patched and restored.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/os/windows/api.hpp"
#include "tests/contract/function_patch/target_macros.hpp"
#include "tests/contract/function_patch/targets.hpp"

// Returns x + 7, and is nearly always between the instructions that a jump displaces.
DECLARE_TARGET(slow)
__asm__(R"(
  .text
  begin slow
  pause
  pause
  pause
  lea 7(%rdi), %eax
  ret
  end slow
  .purgem begin
  .purgem end
)");

namespace {

using alloctap::FunctionPatch;

constexpr int kMark = 1000;
std::atomic<Target> original{nullptr};
TARGET_ABI int replacement(int x, TargetHelper helper) {
  return original.load()(x, helper) + kMark;
}

/// Traps of target_slow, which are seen before anybody resumes the thread.
std::atomic<int> traps{0};
LONG CALLBACK count_trap(EXCEPTION_POINTERS* exception) {
  const auto* const place =
      static_cast<const std::byte*>(exception->ExceptionRecord->ExceptionAddress);
  const auto* const start = reinterpret_cast<const std::byte*>(&target_slow);
  if (place > start && place < target_slow_end) ++traps;
  return EXCEPTION_CONTINUE_SEARCH;
}

/// A thread that calls target_slow again and again, and can be stopped in it.
class Caller {
 public:
  Caller() : thread_([this] { run(); }) {
    while (id_ == 0) std::this_thread::yield();
    handle_ =
        alloctap::os::Handle(::OpenThread(THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT, FALSE, id_));
  }
  ~Caller() {
    stopping_ = true;
    thread_.join();
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Stops it behind the first instruction of the function, where a jump would lie, or in the
  /// original behind its first. It calls on between two tries: a thread that a busy
  /// machine did not let run since would stand where it stood. False if it never was there.
  bool stop_inside(std::uintptr_t from, std::uintptr_t bytes) const {
    for (int i = 0; i < 1000; ++i) {
      ::SuspendThread(handle_.get());
      CONTEXT context;
      context.ContextFlags = CONTEXT_CONTROL;
      ::GetThreadContext(handle_.get(), &context);
      if (context.Rip > from && context.Rip < from + bytes) return true;
      go_on();
    }
    return false;
  }
  void go_on() const {
    const long before = calls_;
    ::ResumeThread(handle_.get());
    while (calls_ < before + kCallsBetweenStops) std::this_thread::yield();
  }
  [[nodiscard]] long wrong() const { return wrong_; }

 private:
  static constexpr long kCallsBetweenStops = 10;

  void run() {
    id_ = ::GetCurrentThreadId();
    const Target volatile target = &target_slow;
    while (!stopping_) {
      const int result = target(1, nullptr);
      if (result != 8 && result != 8 + kMark) ++wrong_;
      ++calls_;
    }
  }

  std::atomic<DWORD> id_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<long> calls_{0};
  std::atomic<long> wrong_{0};
  std::thread thread_;
  alloctap::os::Handle handle_;
};

std::uintptr_t place_of(Target code) { return reinterpret_cast<std::uintptr_t>(code); }

FunctionPatch prepare_slow() {
  const auto* start = reinterpret_cast<const std::byte*>(&target_slow);
  const auto bytes = static_cast<std::size_t>(target_slow_end - start);
  auto patch = FunctionPatch::prepare({.address = start, .bytes = bytes},
                                      reinterpret_cast<const void*>(&replacement));
  REQUIRE(patch.ok());
  original = patch->original(&target_slow);
  return *std::move(patch);
}

constexpr std::uintptr_t kPatchBytes = 5;

}  // namespace

TEST_CASE("a thread that stands between displaced instructions goes on in the trampoline") {
  FunctionPatch patch = prepare_slow();
  Caller caller;
  REQUIRE(caller.stop_inside(place_of(&target_slow), kPatchBytes));
  REQUIRE(patch.enable().ok());
  void* const counter = ::AddVectoredExceptionHandler(1, &count_trap);
  traps = 0;
  caller.go_on();
  CHECK(traps == 1);
  CHECK(caller.wrong() == 0);
  ::RemoveVectoredExceptionHandler(counter);
}

TEST_CASE("and in the function, if it is restored by then") {
  FunctionPatch patch = prepare_slow();
  Caller caller;
  REQUIRE(caller.stop_inside(place_of(&target_slow), kPatchBytes));
  for (int i = 0; i < 100; ++i) {
    CHECK(patch.enable().ok());
    CHECK(patch.disable().ok());
  }
  caller.go_on();
  CHECK(caller.wrong() == 0);
}

TEST_CASE("a thread that stands in the original goes on there when the function is restored") {
  FunctionPatch patch = prepare_slow();
  REQUIRE(patch.enable().ok());
  Caller caller;
  REQUIRE(caller.stop_inside(place_of(original.load()), 2 * kPatchBytes));
  REQUIRE(patch.disable().ok());
  caller.go_on();
  CHECK(caller.wrong() == 0);
}
