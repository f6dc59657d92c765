#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "alloctap/message_text.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/status.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct ScanTest;
struct TablesTest;
struct SampledScanTest;

struct SampledConfig : ScriptedConfig<SampledScanTest> {
  using Sampling = PoissonByBytes<512 * 1024>;
};

constexpr std::array<std::uintptr_t, 1> kKeepStack{0x1011};
constexpr std::array<std::uintptr_t, 1> kLoseStack{0x2021};

/// Blocks of 64 bytes in memory of their own, known by numbers: where no pointer is to be, none is.
class NumberedBlocks {
 public:
  NumberedBlocks() {
    pages_ = os::map_pages(kBytes);
    REQUIRE(pages_ != nullptr);
  }
  ~NumberedBlocks() { os::unmap_pages(pages_, kBytes); }
  NumberedBlocks(const NumberedBlocks&) = delete;
  NumberedBlocks& operator=(const NumberedBlocks&) = delete;

  [[gnu::noinline]] std::uintptr_t hidden(std::uintptr_t number) const {
    return ~(reinterpret_cast<std::uintptr_t>(pages_) + 4096 + 128 * number);
  }

  /// Leaves no pointer in registers or in what is in use of the stack.
  template <class Hook>
  [[gnu::noinline]] void allocate(std::uintptr_t number) const {
    Hook::on_allocate(at(~hidden(number)), 64);
  }
  [[gnu::noinline]] void point_at(std::uintptr_t number, void** place) const {
    *place = at(~hidden(number));
  }
  [[gnu::noinline]] void link(std::uintptr_t from, std::uintptr_t to) const {
    point_at(to, static_cast<void**>(at(~hidden(from))));
  }

 private:
  static constexpr std::size_t kBytes = 1 << 16;
  void* pages_ = nullptr;
};

void* held_block = nullptr;

/// Leaves what `work` puts on the stack far below whatever comes later.
template <class Work>
[[gnu::noinline]] void far_below(const Work& work) {
  char room[128 * 1024];
  asm volatile("" : : "r"(room) : "memory");
  work();
  asm volatile("" : : "r"(room) : "memory");
}

}  // namespace

TEST_CASE("a tracker tells what cannot be reached, definitely and indirectly") {
  using T = Tracker<ScriptedConfig<ScanTest>>;
  const Session session = started<T>();
  const NumberedBlocks blocks;
  far_below([&] {
    ScriptedStack::play(kKeepStack);
    blocks.allocate<T::Hook>(0);
    blocks.allocate<T::Hook>(1);
    ScriptedStack::play(kLoseStack);
    blocks.allocate<T::Hook>(2);
    blocks.allocate<T::Hook>(3);
    blocks.point_at(0, &held_block);
    blocks.link(0, 1);
    blocks.link(2, 3);
  });
  const auto found = T::leaks(Reachability::kScan);
  held_block = nullptr;
  CAPTURE(to_string(found.status()));
  REQUIRE(found.ok());
  CHECK(found->snapshot.scan.done);
  CHECK(found->snapshot.totals.live_allocations == 4);
  CHECK(found->leaks.leaked.live_allocations == 2);
  CHECK(found->leaks.definite.live_allocations == 1);
  CHECK(found->leaks.definite.live_bytes == 64);
  CHECK(found->leaks.indirect.live_allocations == 1);
  REQUIRE(found->leaks.stacks.size() == 1);
  CHECK(found->snapshot.table->frames(found->leaks.stacks[0]->stack)[0] == kLoseStack[0]);

  const auto live = T::leaks(Reachability::kNotAsked);
  REQUIRE(live.ok());
  CHECK_FALSE(live->snapshot.scan.done);
  CHECK(live->leaks.leaked.live_allocations == 4);
}

TEST_CASE("what the tracker itself knows of a block does not keep it reachable") {
  using T = Tracker<ScriptedConfig<TablesTest>>;
  const Session session = started<T>();
  const NumberedBlocks blocks;
  far_below([&] {
    ScriptedStack::play(kLoseStack);
    blocks.allocate<T::Hook>(0);
  });
  // A table of every block, and the last allocation of the thread.
  const auto with_blocks = T::snapshot({.blocks = true});
  REQUIRE(with_blocks.ok());
  CHECK(with_blocks->blocks.size() == 1);
  const auto found = T::leaks(Reachability::kScan);
  REQUIRE(found.ok());
  CHECK(found->leaks.leaked.live_allocations == 1);
}

TEST_CASE("where blocks are left out unreachable ones cannot be told") {
  using T = Tracker<SampledConfig>;
  const Session session = started<T>();
  const auto found = T::leaks(Reachability::kScan);
  CHECK(found.status().code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(says(found.status(), "a sampling policy leaves blocks out"));
  CHECK(says(found.status(), "record every allocation"));
  CHECK(T::leaks(Reachability::kNotAsked).ok());
}
