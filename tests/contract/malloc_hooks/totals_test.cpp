// What programs allocate, as their allocator's hooks tell it: cases 22 and 24 of the reference.
#include <unwind.h>

#include <array>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/dump/memory_output.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/contract/malloc_hooks/hooked_tracker.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::MallocHooks;
using alloctap::ProbeFindings;
using Reallocation = alloctap::ProbeFindings::Reallocation;

alloctap::Session started() {
  auto session = HookedTracker::start();
  REQUIRE_MESSAGE(session.ok(), session.status().ToString());
  return *std::move(session);
}

Reallocation expected_reallocation() {
  const std::string_view name = expected("ALLOCTAP_REALLOC");
  if (name == "whole") return Reallocation::kWhole;
  if (name == "pair") return Reallocation::kAsPair;
  if (name == "freed-first") return Reallocation::kFreedFirst;
  CHECK(name == "unseen");
  return Reallocation::kUnseen;
}

std::string header_of_report() {
  alloctap::MemoryOutput output;
  REQUIRE(HookedTracker::dump(alloctap::TextDump{}, output).ok());
  const std::string text(output.text());
  return text.substr(0, text.find("Live now"));
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("case 24, native: the provider is the expected one, and reports say what it misses") {
  const auto session = started();
  const std::string header = header_of_report();
  INFO(header);
  CHECK(contains(header, "malloc-hooks (" + std::string(expected("ALLOCTAP_PROVIDER")) + ")"));
  const ProbeFindings findings = MallocHooks::findings();
  CHECK(findings.malloc);
  CHECK(findings.free);
  CHECK(findings.calloc);
  CHECK(findings.strdup);
  CHECK(findings.operator_new);
  CHECK(findings.operator_new_array);
  CHECK(findings.aligned_new);
  CHECK(findings.reallocation == expected_reallocation());
  CHECK(findings.aligned_alloc == !expected_unseen("aligned_alloc"));
  CHECK(findings.posix_memalign == !expected_unseen("posix_memalign"));
  CHECK(contains(header, "aligned_alloc") == expected_unseen("aligned_alloc"));
  CHECK(contains(header, "posix_memalign") == expected_unseen("posix_memalign"));
  CHECK(contains(header, "realloc (a block that it moved") != realloc_is_seen());
  CHECK(contains(header, "that a realloc failed") ==
        (expected_reallocation() == Reallocation::kFreedFirst));
  CHECK(contains(header, "children that were forked") != told_after_fork());
  CHECK(contains(header, "frees of unknown blocks cannot be told") == misses_something());
  CHECK(MallocHooks::active_capabilities().owns_every_free == realloc_is_seen());
}

TEST_CASE("case 22, semantics: every allocation counts with the size that was asked for") {
  const auto session = started();
  const EventCount count;
  void* const plain = escape(std::malloc(1000));
  std::free(escape(std::calloc(3, 1000)));
  delete[] escape(new char[500]);
  delete escape(new int(7));
  std::free(escape(strdup("hello")));
  ::operator delete(escape(::operator new(400, std::align_val_t{64})), std::align_val_t{64});
  const Difference difference = count.so_far();
  std::free(plain);
  const Difference after = count.so_far();
  CHECK(difference.allocations == 6);
  CHECK(difference.deallocations == 5);
  const std::uint64_t rounded = MallocHooks::findings().exact_sizes ? 400 : 448;
  CHECK(difference.allocated_bytes == 1000 + 3000 + 500 + sizeof(int) + 6 + rounded);
  CHECK(difference.live_bytes == 1000);
  CHECK(after.live_bytes == 0);
}

TEST_CASE(
    "case 22, semantics: aligned blocks count where they are told, and their frees do no harm") {
  const auto session = started();
  const EventCount count;
  void* const first = escape(std::aligned_alloc(64, 640));
  const Difference aligned = count.so_far();
  void* second = nullptr;
  const bool made = posix_memalign(&second, 64, 6400) == 0;
  const Difference both = count.so_far();
  std::free(escape(first));
  std::free(escape(second));
  const Difference after = count.so_far();
  CHECK(made);
  CHECK(aligned.live_bytes == (expected_unseen("aligned_alloc") ? 0 : 640));
  CHECK(both.live_bytes - aligned.live_bytes == (expected_unseen("posix_memalign") ? 0 : 6400));
  CHECK(after.live_bytes == 0);
  if (after.unmatched_frees) CHECK(*after.unmatched_frees == 0);
}

TEST_CASE(
    "case 24, native: a reallocation leaves the right live bytes, or the gap that is stated") {
  const auto session = started();
  const EventCount count;
  void* block = escape(std::malloc(100));
  block = escape(std::realloc(block, 50'000));
  const Difference grown = count.so_far();
  block = escape(std::realloc(block, 60));
  const Difference shrunk = count.so_far();
  std::free(block);
  const Difference freed = count.so_far();
  if (realloc_is_seen()) {
    CHECK(grown.live_bytes == 50'000);
    CHECK(grown.allocations == 2);
    CHECK(shrunk.live_bytes == 60);
    CHECK(freed.live_bytes == 0);
    CHECK(freed.allocations == 3);
    CHECK(freed.deallocations == 3);
  } else {
    CHECK(grown.live_bytes == 100);
    CHECK(grown.allocations == 1);
    CHECK_FALSE(freed.unmatched_frees.has_value());
  }
}

TEST_CASE("case 22, semantics: realloc of nothing, to nothing, and one that fails") {
  if (!realloc_is_seen()) return;
  const auto session = started();
  const EventCount count;
  void* const made = escape(std::realloc(escape(static_cast<void*>(nullptr)), 70));
  const Difference first = count.so_far();
  void* const failed = escape(std::realloc(escape(made), too_much));
  const Difference second = count.so_far();
  std::free(made);
  const Difference third = count.so_far();
  CHECK(first.live_bytes == 70);
  CHECK(failed == nullptr);
  const bool loses_block = expected_reallocation() == Reallocation::kFreedFirst;
  if (!loses_block) CHECK(second.live_bytes == 70);
  CHECK(third.live_bytes == 0);
}

TEST_CASE("case 22, semantics: calls that fail are no allocations") {
  const auto session = started();
  const EventCount count;
  void* const much = escape(std::malloc(too_much));
  void* const overflow = escape(std::calloc(too_much, 16));
  const Difference difference = count.so_far();
  CHECK(much == nullptr);
  CHECK(overflow == nullptr);
  CHECK(difference.allocations == 0);
  CHECK(difference.live_bytes == 0);
}

TEST_CASE("what four threads allocate is all there") {
  constexpr int kRounds = 1000;
  const auto session = started();
  std::array<void*, 4> left{};
  const EventCount count;
  {
    std::vector<std::thread> threads;
    for (void*& block : left) {
      threads.emplace_back([&block] {
        for (int i = 0; i < kRounds; ++i) std::free(escape(std::malloc(24)));
        block = escape(std::malloc(10'000));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const Difference difference = count.so_far();
  for (void* block : left) std::free(block);
  const Difference after = count.so_far();
  CHECK(difference.allocations >= 4 * (kRounds + 1));
  CHECK(difference.live_bytes >= 40'000);
  // A thread leaves what the C library keeps of it.
  CHECK(difference.live_bytes < 45'000);
  CHECK(difference.live_bytes - after.live_bytes == 40'000);
}

namespace {

/// The one function that the program allocates in.
ALLOCTAP_NOINLINE std::vector<void*> allocate_everywhere() {
  std::vector<void*> blocks(9);
  blocks[0] = escape(std::malloc(30));
  blocks[1] = escape(std::calloc(1, 31));
  blocks[2] = escape(std::realloc(escape(std::malloc(32)), 40'000));
  blocks[3] = escape(std::aligned_alloc(64, 128));
  if (posix_memalign(&blocks[4], 64, 34) != 0) std::abort();
  blocks[5] = escape(strdup("a string to be copied"));
  blocks[6] = escape(::operator new(36));
  blocks[7] = escape(::operator new[](37));
  blocks[8] = escape(::operator new(38, std::align_val_t{64}));
  return blocks;
}

void* function_of(std::uintptr_t frame) {
  return _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(frame - 1));
}

void give_back(std::vector<void*>& blocks) {
  for (std::size_t i = 0; i < 6; ++i) std::free(blocks[i]);
  ::operator delete(blocks[6]);
  ::operator delete[](blocks[7]);
  ::operator delete(blocks[8], std::align_val_t{64});
}

}  // namespace

TEST_CASE("stacks begin at the program's frame, whatever was called, and end where it began") {
  const auto session = started();
  std::vector<void*> blocks = allocate_everywhere();
  const auto snapshot = HookedTracker::snapshot({.blocks = true});
  REQUIRE(snapshot.ok());
  std::size_t found = 0;
  for (const alloctap::LiveBlock& live : snapshot->blocks) {
    for (void* block : blocks) {
      if (live.address != reinterpret_cast<std::uintptr_t>(block)) continue;
      const auto frames = snapshot->table->frames(live.stack);
      REQUIRE(frames.size() > 3);
      CHECK(function_of(frames[0]) == reinterpret_cast<void*>(&allocate_everywhere));
      ++found;
    }
  }
  CHECK(snapshot->account.failed_unwinds == 0);
  give_back(blocks);
  CHECK(found == 9 - (realloc_is_seen() ? 0U : 1U) - (expected_unseen("aligned_alloc") ? 1U : 0U) -
                     (expected_unseen("posix_memalign") ? 1U : 0U));
}
