#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "alloctap/snapshot/reach/scan_roots.hpp"

namespace {

using alloctap::AddressRange;
using alloctap::EndedThreads;
using alloctap::ScanLayout;
using alloctap::ScannedBlock;
using alloctap::ScanRegion;
using alloctap::os::ThreadRegisters;

constexpr std::uintptr_t kStackMapping = 0x10000;
constexpr std::uintptr_t kGuardBytes = 0x1000;
constexpr std::uintptr_t kStackBegin = kStackMapping + kGuardBytes;
constexpr std::uintptr_t kStackEnd = 0x20000;
constexpr std::size_t kWordBytes = sizeof(std::uintptr_t);

/// The pages of a stack, and how they are read.
struct LeftStack {
  std::array<std::uintptr_t, (kStackEnd - kStackBegin) / kWordBytes> words{};

  std::uintptr_t& at(std::uintptr_t address) { return words[(address - kStackBegin) / kWordBytes]; }

  void describe(std::uintptr_t address, std::uintptr_t mapping, std::uintptr_t bytes,
                std::uintptr_t guard) {
    at(address) = mapping;
    at(address + kWordBytes) = bytes;
    at(address + 2 * kWordBytes) = guard;
  }

  /// In two pieces.
  template <class Visit>
  void visit_pieces(AddressRange range, Visit&& visit) {
    constexpr std::uintptr_t kMiddle = (kStackBegin + kStackEnd) / 2;
    REQUIRE(range.start == kStackBegin);
    REQUIRE(range.end == kStackEnd);
    const std::span all(words);
    visit(kStackBegin, all.first((kMiddle - kStackBegin) / kWordBytes));
    visit(kMiddle, all.subspan((kMiddle - kStackBegin) / kWordBytes));
  }
};

/// A stack as glibc leaves it, behind its guard, with one word that is wrong in each case.
struct LeftSpace {
  static constexpr std::uintptr_t kDescription = kStackEnd - 0x900;
  static constexpr std::uintptr_t kThree = kDescription + 0x690;

  LeftSpace() {
    REQUIRE(layout.regions.push_back({.range = {kStackMapping, kStackBegin}, .anonymous = true}));
    REQUIRE(layout.regions.push_back({.range = {kStackBegin, kStackEnd},
                                      .readable = true,
                                      .writable = true,
                                      .anonymous = true}));
    stack.at(kDescription) = stack.at(kDescription + 2 * kWordBytes) = kDescription;
    stack.describe(kThree, kStackMapping, kStackEnd - kStackMapping, kGuardBytes);
  }

  /// "start-end" of what was left out, in hexadecimal, or nothing.
  std::string left_out() {
    layout.programs.settle();
    layout.threads = threads;
    layout.blocks = blocks;
    EndedThreads ended(layout, stack);
    REQUIRE(ended.leave_out());
    layout.left_out.settle();
    std::string text;
    const auto note = [&text](AddressRange range) {
      char part[64];
      std::snprintf(part, sizeof part, "%zx-%zx", range.start, range.end);
      text += part;
    };
    layout.left_out.for_each_inside({0, kStackEnd + kGuardBytes}, note);
    return text;
  }

  LeftStack stack;
  ScanLayout layout;
  std::vector<ThreadRegisters> threads;
  std::vector<ScannedBlock> blocks;
};

}  // namespace

TEST_CASE("the stack of an ended thread is left out, up to what describes the thread") {
  CHECK(LeftSpace().left_out() == "11000-1f700");
}

TEST_CASE("where the description's begin is not known, what is near its three words counts") {
  LeftSpace space;
  space.stack.at(LeftSpace::kDescription) = 0;
  CHECK(space.left_out() == "11000-1fd10");
}

TEST_CASE("a stack may be described further down, where other memory lies right above") {
  LeftSpace space;
  space.stack.at(LeftSpace::kThree) = 0;
  space.stack.describe(0x18000 - 0x100, kStackMapping, 0x18000 - kStackMapping, kGuardBytes);
  CHECK(space.left_out() == "11000-17e80");
}

TEST_CASE("what a thread returned that was joined does not count") {
  LeftSpace space;
  space.stack.at(LeftSpace::kDescription + 720) = 0x00000000ffffffff;
  CHECK(space.left_out() == "11000-1f7001f9d0-20000");
}

TEST_CASE("no stack is left out that a thread is on, or keeps its variables on") {
  for (const bool by_storage : {false, true}) {
    LeftSpace space;
    ThreadRegisters& thread = space.threads.emplace_back();
    (by_storage ? thread.thread_pointer : thread.stack_pointer) = kStackBegin + 0x100;
    CHECK(space.left_out().empty());
  }
}

TEST_CASE("no stack is left out where a thread was not seen: it may be on any") {
  LeftSpace space;
  space.layout.all_threads_seen = false;
  CHECK(space.left_out().empty());
}

TEST_CASE("memory is no stack whose description does not fit it") {
  struct Wrong {
    std::uintptr_t mapping, bytes, guard;
  };
  for (const Wrong& wrong : {
           Wrong{kStackMapping + 0x800, kStackEnd - kStackMapping, kGuardBytes},
           Wrong{kStackMapping, kStackEnd - kStackMapping + 1, kGuardBytes},
           Wrong{kStackMapping, 0x100, kGuardBytes},
           Wrong{kStackMapping, kStackEnd - kStackMapping, kGuardBytes * 2},
           Wrong{kStackBegin, kStackEnd - kStackBegin, 0},
       }) {
    CAPTURE(wrong.mapping);
    CAPTURE(wrong.bytes);
    CAPTURE(wrong.guard);
    LeftSpace space;
    space.stack.describe(LeftSpace::kThree, wrong.mapping, wrong.bytes, wrong.guard);
    CHECK(space.left_out().empty());
  }
}

TEST_CASE("memory is no stack without a guard, or that the program mapped, or with blocks in it") {
  LeftSpace open;
  open.layout.regions[0].readable = true;
  CHECK(open.left_out().empty());
  LeftSpace mapped;
  REQUIRE(mapped.layout.programs.add({kStackBegin + 0x2000, kStackBegin + 0x3000}));
  CHECK(mapped.left_out().empty());
  LeftSpace with_block;
  with_block.blocks = {{kStackBegin + 0x100, 16, 1}};
  CHECK(with_block.left_out().empty());
}
