#include "alloctap/snapshot/malloc_leak_info.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::ScriptedStack;
using alloctap::testing::StarvedArena;

struct LeakConfig : DefaultConfig {
  using Hook = ManualHook<LeakConfig>;
  using Stack = ScriptedStack;
};
using T = Tracker<LeakConfig>;

}  // namespace

// As a C program declares them.
extern "C" {
void get_malloc_leak_info(std::uint8_t** info, std::size_t* overall_size, std::size_t* info_size,
                          std::size_t* total_memory, std::size_t* backtrace_size);
void free_malloc_leak_info(std::uint8_t* info);
}
ALLOCTAP_DEFINE_MALLOC_LEAK_INFO(T);

namespace {

/// What a caller gets.
struct Answer {
  Answer() {
    get_malloc_leak_info(&info, &overall_size, &info_size, &total_memory, &backtrace_size);
  }
  ~Answer() { free_malloc_leak_info(info); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  /// The word with that number in an entry.
  [[nodiscard]] std::size_t word(std::size_t entry, std::size_t number) const {
    std::size_t value = 0;
    std::memcpy(&value, info + entry * info_size + number * sizeof value, sizeof value);
    return value;
  }

  std::uint8_t* info = reinterpret_cast<std::uint8_t*>(1);
  std::size_t overall_size = 1;
  std::size_t info_size = 1;
  std::size_t total_memory = 1;
  std::size_t backtrace_size = 1;
};

constexpr std::array<std::uintptr_t, 2> kStack{0x1011, 0x2021};
constexpr std::array<std::uintptr_t, 1> kOther{0x3031};

void* block_at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

/// Gives back what a test has allocated.
struct Blocks {
  Blocks() : session(*T::start()) {}
  ~Blocks() {
    for (std::uintptr_t i = 0; i < next; ++i) T::Hook::on_free(block_at(0x10000 + i * 64));
  }
  void add(std::size_t size) { T::Hook::on_allocate(block_at(0x10000 + next++ * 64), size); }

  Session session;
  std::uintptr_t next = 0;
};

}  // namespace

TEST_CASE("where nothing is live the answer is zeros") {
  const Blocks blocks;
  const Answer answer;
  CHECK(answer.info == nullptr);
  CHECK(answer.overall_size == 0);
  CHECK(answer.info_size == 0);
  CHECK(answer.total_memory == 0);
  CHECK(answer.backtrace_size == 0);
}

TEST_CASE("blocks of one stack and one size are one entry, the most bytes first") {
  Blocks blocks;
  ScriptedStack::play(kStack);
  blocks.add(16);
  blocks.add(48);
  blocks.add(16);
  ScriptedStack::play(kOther);
  blocks.add(16);
  blocks.add(8);
  blocks.add(8);
  const Answer answer;
  REQUIRE(answer.info != nullptr);
  CHECK(answer.info_size == 272);
  CHECK(answer.backtrace_size == 32);
  REQUIRE(answer.overall_size == 4 * 272);
  CHECK(answer.total_memory == 112);
  constexpr std::size_t kExpected[4][4] = {
      {48, 1, 0x1011, 0x2021}, {16, 2, 0x1011, 0x2021}, {8, 2, 0x3031, 0}, {16, 1, 0x3031, 0}};
  for (std::size_t entry = 0; entry < 4; ++entry) {
    CAPTURE(entry);
    for (std::size_t i = 0; i < 4; ++i) CHECK(answer.word(entry, i) == kExpected[entry][i]);
    for (std::size_t i = 4; i < 34; ++i) CHECK(answer.word(entry, i) == 0);
  }
}

TEST_CASE("blocks of one size and two stacks are two entries") {
  Blocks blocks;
  ScriptedStack::play(kStack);
  blocks.add(7);
  ScriptedStack::play(kOther);
  blocks.add(7);
  const Answer answer;
  REQUIRE(answer.overall_size == 2 * 272);
  CHECK(answer.word(0, 1) == 1);
  CHECK(answer.word(0, 2) != answer.word(1, 2));
}

TEST_CASE("stacks that are deeper than an entry are cut") {
  std::array<std::uintptr_t, 40> deep{};
  for (std::size_t i = 0; i < deep.size(); ++i) deep[i] = 0x1000 + i;
  Blocks blocks;
  ScriptedStack::play(deep);
  blocks.add(1);
  const Answer answer;
  REQUIRE(answer.overall_size == 272);
  for (std::size_t i = 0; i < 32; ++i) CHECK(answer.word(0, 2 + i) == 0x1000 + i);
}

TEST_CASE("blocks of 2 GiB and more are listed like others") {
  Blocks blocks;
  ScriptedStack::play(kStack);
  blocks.add(std::size_t{5} << 30);
  const Answer answer;
  REQUIRE(answer.overall_size == 272);
  CHECK(answer.word(0, 0) == std::size_t{5} << 30);
}

TEST_CASE("an argument that is nullptr is nothing to write to") {
  Blocks blocks;
  ScriptedStack::play(kStack);
  blocks.add(1);
  std::uint8_t* info = nullptr;
  std::size_t a = 7;
  get_malloc_leak_info(nullptr, &a, &a, &a, &a);
  get_malloc_leak_info(&info, nullptr, &a, &a, &a);
  get_malloc_leak_info(&info, &a, &a, &a, nullptr);
  CHECK(info == nullptr);
  CHECK(a == 7);
  free_malloc_leak_info(nullptr);
}

TEST_CASE("without memory for the list the answer is zeros") {
  Blocks blocks;
  ScriptedStack::play(kStack);
  for (std::size_t i = 0; i < 20'000; ++i) blocks.add(i);
  std::uint8_t* info = nullptr;
  std::size_t size = 1;
  {
    const StarvedArena starved;
    std::size_t other = 0;
    get_malloc_leak_info(&info, &size, &other, &other, &other);
  }
  CHECK(info == nullptr);
  CHECK(size == 0);
}
