// MallocHooks under the cases of hook backends, and what each allocator's hooks tell: case 24.
#include <unwind.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/hook/malloc_hooks.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct HookedConfig : DefaultConfig {
  using Hook = MallocHooks;
};
using HookedTracker = Tracker<HookedConfig>;

/// From the environment, where each program is given what its allocator tells: ALLOCTAP_PROVIDER,
/// ALLOCTAP_REALLOC (whole, pair, freed-first, unseen), ALLOCTAP_UNSEEN (names of functions,
/// thread_local), ALLOCTAP_SIZES (rounded: those of aligned blocks), ALLOCTAP_FAILED_REALLOC
/// (frees: the block), ALLOCTAP_FORK (untold: a child's calls are).
std::string_view expected(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string_view() : value;
}

bool expected_unseen(std::string_view function) {
  return expected("ALLOCTAP_UNSEEN").find(function) != std::string_view::npos;
}

Reallocation expected_reallocation() {
  const std::string_view name = expected("ALLOCTAP_REALLOC");
  if (name == "whole") return Reallocation::kWhole;
  if (name == "pair") return Reallocation::kAsPair;
  if (name == "freed-first") return Reallocation::kFreedFirst;
  CHECK(name == "unseen");
  return Reallocation::kUnseen;
}

Sees expected_to_see() {
  const bool all = !expected_unseen("aligned_alloc");
  const Reallocation reallocation = expected_reallocation();
  return {.reallocation = reallocation,
          .aligned_functions = all,
          .exact_sizes = expected("ALLOCTAP_SIZES") != "rounded",
          .outermost = false,
          .throwing_new = expected("ALLOCTAP_PROVIDER") != "sanitizer",
          .failed_realloc_keeps = expected("ALLOCTAP_FAILED_REALLOC") != "frees",
          .size_of_reallocarray = !expected_unseen("reallocarray_size"),
          .mappings = false,
          .unknown_frees = all && reallocation != Reallocation::kUnseen,
          .closing = false,
          .forked_children = expected("ALLOCTAP_FORK") != "untold"};
}

bool realloc_is_seen() { return sees().reallocation != Reallocation::kUnseen; }

std::string header_of_report() {
  MemoryOutput output;
  REQUIRE(HookedTracker::dump(TextDump{}, output).ok());
  const std::string text(output.text());
  return text.substr(0, text.find("Live now"));
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

const HookedProgram alloctap::testing::hooked_program =
    hooked_program_of<HookedTracker>(&expected_to_see);

TEST_CASE("case 24, native: the provider is the expected one, and reports say what it misses") {
  const Recording recording;
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
  CHECK(findings.reallocation == sees().reallocation);
  CHECK(findings.aligned_alloc == !expected_unseen("aligned_alloc"));
  CHECK(findings.posix_memalign == !expected_unseen("posix_memalign"));
  CHECK(contains(header, "aligned_alloc") == expected_unseen("aligned_alloc"));
  CHECK(contains(header, "posix_memalign") == expected_unseen("posix_memalign"));
  CHECK(contains(header, "realloc (a block that it moved") != realloc_is_seen());
  CHECK(contains(header, "that a realloc failed") ==
        (sees().reallocation == Reallocation::kFreedFirst));
  CHECK(contains(header, "children that were forked") != sees().forked_children);
  CHECK(contains(header, "frees of unknown blocks cannot be told") != sees().unknown_frees);
  CHECK(MallocHooks::active_capabilities().owns_every_free == realloc_is_seen());
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
  const Recording recording;
  std::vector<void*> blocks = allocate_everywhere();
  const auto snapshot = HookedTracker::snapshot({.blocks = true});
  REQUIRE(snapshot.ok());
  std::size_t found = 0;
  for (const LiveBlock& live : snapshot->blocks) {
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
