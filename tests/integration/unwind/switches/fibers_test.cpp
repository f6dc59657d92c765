// Stacks that a program makes and switches to by itself. The C library's function that they begin
// with has no unwind table, so no stack counts as whole.
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <memory>
#include <optional>
#include <thread>

#include "alloctap/annotate.hpp"
#include "compared_process.hpp"
#include "tests/support/offered_annotations.hpp"

namespace {

using namespace alloctap::testing;

enum class Told : std::uint8_t { kNo, kYes };

/// Memory for a stack, at `place` where one is given.
class StackMemory {
 public:
  explicit StackMemory(std::size_t bytes, void* place = nullptr) : bytes_(bytes) {
    const int fixed = place != nullptr ? MAP_FIXED_NOREPLACE : 0;
    memory_ =
        mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
  }
  StackMemory(const StackMemory&) = delete;
  StackMemory& operator=(const StackMemory&) = delete;
  ~StackMemory() { munmap(memory_, bytes_); }

  [[nodiscard]] void* memory() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

/// Goes in and out of frames that allocate, and to whoever resumed it in between.
class Fiber {
 public:
  Fiber(std::size_t bytes, Told told, std::uint64_t seed, void* place = nullptr)
      : stack_(bytes, place), numbers_(seed) {
    if (told == Told::kYes) scope_.emplace(stack_.memory(), stack_.size());
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.memory();
    own_.uc_stack.ss_size = stack_.size();
    own_.uc_link = nullptr;
    makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                static_cast<unsigned>(address()), static_cast<unsigned>(address() >> 32U));
  }

  ALLOCTAP_NOINLINE void resume() {
    swapcontext(&resumer_, &own_);
    stay();
  }

  [[nodiscard]] void* place() const { return stack_.memory(); }

 private:
  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(this); }

  static void enter(unsigned low, unsigned high) {
    const auto address = std::uintptr_t{high} << 32U | low;
    auto* fiber = reinterpret_cast<Fiber*>(address);
    for (;;) {
      fiber->go_deeper(static_cast<int>(fiber->numbers_.next(25)));
      fiber->suspend();
    }
  }

  ALLOCTAP_NOINLINE void suspend() {
    allocate();
    swapcontext(&own_, &resumer_);
    stay();
  }

  ALLOCTAP_NOINLINE void go_deeper(int depth) {
    allocate();
    if (numbers_.next(9) == 0) suspend();
    if (depth > 0) go_deeper(depth - 1);
    if (numbers_.next(9) == 0) suspend();
    allocate();
  }

  StackMemory stack_;
  std::optional<alloctap::fiber_scope> scope_;
  Numbers numbers_;
  ucontext_t own_{};
  ucontext_t resumer_{};
};

constexpr std::size_t kStackBytes = 64 * 1024;

ALLOCTAP_NOINLINE void resume_from(int depth, Fiber& fiber) {
  if (depth > 0) {
    resume_from(depth - 1, fiber);
    return stay();
  }
  allocate();
  fiber.resume();
  allocate();
}

void check_turns(Told told) {
  ComparedRun run;
  {
    std::array<std::unique_ptr<Fiber>, 6> fibers;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      fibers[i] = std::make_unique<Fiber>(kStackBytes, told, i);
    }
    for (std::size_t i = 0; i < 600; ++i) {
      resume_from(static_cast<int>(i % 5), *fibers[i * 7 % fibers.size()]);
    }
  }
  run.check_equal(3'000);
}

void check_migration(Told told) {
  ComparedRun run;
  {
    Fiber one(kStackBytes, told, 1);
    Fiber other(kStackBytes, told, 2);
    for (int i = 0; i < 60; ++i) {
      std::thread([&] {
        for (int turn = 0; turn < 5; ++turn) resume_from(turn, i % 2 == 0 ? one : other);
      }).join();
      resume_from(i % 4, one);
    }
  }
  run.check_equal(1'500);
}

/// Each stack is gone before the next lies at its end's place or at its beginning's.
void check_stacks_that_go(Told told, std::ptrdiff_t shift) {
  ComparedRun run;
  const std::size_t large = 4 * kStackBytes;
  char* place = static_cast<char*>(Fiber(large, told, 0).place());
  for (std::uint64_t i = 0; i < 40; ++i) {
    {
      Fiber fiber(large, told, i, place);
      for (int turn = 0; turn < 8; ++turn) resume_from(turn % 3, fiber);
    }
    Fiber fiber(kStackBytes, told, i, place + shift);
    for (int turn = 0; turn < 8; ++turn) resume_from(turn % 3, fiber);
  }
  run.check_equal(3'000);
}

}  // namespace

TEST_CASE("fibers take turns, and the tracker was told of their stacks") {
  check_turns(Told::kYes);
}

TEST_CASE("fibers take turns, and nobody told of their stacks") { check_turns(Told::kNo); }

TEST_CASE("fibers go from thread to thread") {
  check_migration(Told::kYes);
  check_migration(Told::kNo);
}

TEST_CASE("a fiber's stack is given back and a smaller one comes to the same place") {
  for (const Told told : {Told::kYes, Told::kNo}) {
    for (const std::ptrdiff_t shift : {std::ptrdiff_t{0}, 3 * std::ptrdiff_t{kStackBytes}}) {
      check_stacks_that_go(told, shift);
    }
  }
}
