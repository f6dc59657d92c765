#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/text/text_findings.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/support/sample_report.hpp"

using alloctap::ChangedBytes;
using alloctap::Misuse;
using alloctap::MisuseKind;
using alloctap::TextDump;
using alloctap::testing::render;
using alloctap::testing::SampleReport;

namespace {

/// What the text says of one fault, without its stacks.
std::string line_of(const Misuse& misuse) {
  SampleReport sample;
  sample.add_misuse(misuse, 1);
  const std::string text = render(TextDump{}, sample.report());
  const std::size_t begin = text.find("!1  ") + 4;
  const std::size_t end = text.find("\n  by thread", begin);
  return text.substr(begin, end - begin);
}

Misuse fault_of(MisuseKind kind) {
  Misuse misuse;
  misuse.kind = kind;
  misuse.found.stack = alloctap::kUnknownStack;
  misuse.address = 0x5008;
  misuse.block = {
      .known = true, .freed = false, .address = 0x5000, .size = 24, .allocated = {}, .gone = {}};
  return misuse;
}

}  // namespace

TEST_CASE("a report without faults does not speak of them") {
  const SampleReport sample;
  CHECK(render(TextDump{}, sample.report()).find("isuse") == std::string::npos);
}

TEST_CASE("a report without faults says what it looked for") {
  SampleReport sample;
  sample.snapshot.checks.kinds = sample.snapshot.checks.blocks = true;
  sample.snapshot.checks.rear_guard = 32;
  CHECK(render(TextDump{}, sample.report())
            .find("\nMisuse     none found; checks: rear_guard=32, verify_kinds\n") !=
        std::string::npos);
  sample.snapshot.checks = {.guard_pages = 1000, .abort_on = {}};
  CHECK(render(TextDump{}, sample.report())
            .find("\nMisuse     none found; checks: guard_pages=1000\n") != std::string::npos);
  sample.snapshot.checks = {.blocks = true, .abort_on = {}};
  CHECK(render(TextDump{}, sample.report()).find("\nMisuse     none found\n") != std::string::npos);
  sample.add_misuses();
  CHECK(render(TextDump{}, sample.report()).find("none found") == std::string::npos);
}

TEST_CASE("a report says how many blocks stood beside inaccessible pages, where some were to") {
  SampleReport sample;
  CHECK(render(TextDump{}, sample.report()).find("guarded") == std::string::npos);
  sample.snapshot.guards = {.one_in = 1, .placed = 1, .fell_back = 0};
  CHECK(render(TextDump{}, sample.report())
            .find("\n  guarded  1 block beside an inaccessible page\n") != std::string::npos);
  sample.snapshot.guards = {.one_in = 1000, .placed = 1234, .fell_back = 5};
  CHECK(render(TextDump{}, sample.report())
            .find("\n  guarded  1,234 blocks beside an inaccessible page, 1 in 1,000; for 5 more "
                  "there was no room (vm.max_map_count, RLIMIT_AS): they are as without\n") !=
        std::string::npos);
  sample.snapshot.guards = {.one_in = 1000, .placed = 1234, .passed_over = 4321};
  CHECK(render(TextDump{}, sample.report())
            .find(", 1 in 1,000; 4,321 more were due in moments of many allocations: they are as "
                  "without\n") != std::string::npos);
}

TEST_CASE("each fault is told with its block, its calls and how often it was found") {
  SampleReport sample;
  sample.add_misuses();
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("\nMisused    5 ways, 8 times\n") != std::string::npos);
  CHECK(text.find("!1  double free, 2 times\n"
                  "  free of the block of 24 bytes at 0x5000, which was freed before\n"
                  "  by thread 4712\n"
                  "    engine::parse   0x2028\n"
                  "    main   0x3030\n"
                  "  freed by free, thread 4712, 200 ms before\n"
                  "    engine::parse   0x2028\n"
                  "    main   0x3030\n"
                  "  allocated by malloc, thread 4711, 5.0 s before\n"
                  "    engine::load(char const*)   0x1010\n") != std::string::npos);
  CHECK(text.find("!2  write behind a block\n"
                  "  2 bytes changed, the first 0 bytes behind the end of the block of 24 bytes at "
                  "0x6000\n"
                  "  from there: 41 bb 42 (each was bb)\n"
                  "  found in a look at all blocks\n"
                  "  allocated by aligned new, thread 4711, 6.0 s before\n") != std::string::npos);
  CHECK(text.find(
            "!5  read behind a block, 3 times\n"
            "  memcpy reads 40 bytes from 0x6010 on, the first bad one 0 bytes behind the end of "
            "the block of 24 bytes at 0x6000\n"
            "  by thread 4712\n") != std::string::npos);
}

TEST_CASE("what is wrong is said in a line, for each kind") {
  Misuse kind = fault_of(MisuseKind::kKindMismatch);
  kind.call = alloctap::DeallocationKind::kDelete;
  kind.block.kind = alloctap::AllocationKind::kNewArray;
  CHECK(line_of(kind) ==
        "mismatched release\n  delete of the block of 24 bytes at 0x5000, which came from new[]");
  CHECK(line_of(fault_of(MisuseKind::kInteriorPointer)) ==
        "free of an address inside a block\n  free of 0x5008, 8 bytes inside the block of 24 bytes "
        "at 0x5000");
  Misuse size = fault_of(MisuseKind::kWrongSize);
  size.stated_size = 1000;
  CHECK(line_of(size) ==
        "release with a wrong size\n  free states 1,000 bytes for the block of 24 bytes at 0x5000");
  Misuse alignment = fault_of(MisuseKind::kWrongAlignment);
  alignment.stated_alignment = 32;
  alignment.block.alignment = 64;
  CHECK(line_of(alignment) ==
        "release with a wrong alignment\n  free states an alignment of 32, not an alignment of 64, "
        "for the block of "
        "24 bytes at 0x5000");
  alignment.stated_alignment = 0;
  CHECK(line_of(alignment).find("free states no alignment, not an alignment of 64, for") !=
        std::string::npos);
  CHECK(line_of(fault_of(MisuseKind::kWrongHeap)) ==
        "release to another heap\n  free to the heap 0x0 of the block of 24 bytes at 0x5000, which "
        "is of the heap 0x0");
  Misuse unknown = fault_of(MisuseKind::kUnknownPointer);
  unknown.block.freed = true;
  CHECK(line_of(unknown) ==
        "free of an unknown address\n  free of 0x5008, where no block begins, 8 bytes inside the "
        "block "
        "of 24 bytes at 0x5000, which was freed");
  Misuse question = fault_of(MisuseKind::kInteriorPointer);
  question.access.function = "malloc_usable_size";
  question.access.address = question.address;
  CHECK(
      line_of(question) ==
      "use of an address inside a block\n  malloc_usable_size of 0x5008, 8 bytes inside the block "
      "of 24 bytes at 0x5000");
  question.kind = MisuseKind::kUnknownPointer;
  question.block.known = false;
  CHECK(line_of(question) ==
        "use of an unknown address\n  malloc_usable_size of 0x5008, which no allocation returned");
}

TEST_CASE("what was written before a block is told from where the block begins") {
  Misuse before = fault_of(MisuseKind::kWriteBefore);
  before.changed = {.count = 1, .first = -1, .last = -1, .expected = 0xAA, .shown = 1};
  before.changed.found[0] = 0;
  const std::string line = line_of(before);
  CHECK(line.find("1 byte changed, the first 1 byte before the block of 24 bytes") !=
        std::string::npos);
  CHECK(line.find("from there: 00 (each was aa)") != std::string::npos);
}

TEST_CASE("an access is told by its function, its range and the first byte that is bad") {
  Misuse write = fault_of(MisuseKind::kWriteBefore);
  write.access = {.function = "memset", .address = 0x4FF8, .bytes = 1, .writes = true};
  CHECK(line_of(write) ==
        "write before a block\n  memset writes 1 byte from 0x4ff8 on, the first bad one 8 bytes "
        "before the block of 24 bytes at 0x5000");
  write.kind = MisuseKind::kWriteAfterFree;
  write.access.address = 0x5002;
  write.block.freed = true;
  CHECK(line_of(write) ==
        "write after free\n  memset writes 1 byte from 0x5002 on, the first bad one 2 bytes inside "
        "the block of 24 bytes at 0x5000, which was freed");
}

TEST_CASE("an instruction's access is told by its address alone") {
  Misuse read = fault_of(MisuseKind::kReadBehind);
  read.access = {.function = {}, .address = 0x5020};
  CHECK(
      line_of(read) ==
      "read behind a block\n  an instruction reads at 0x5020, 8 bytes behind the end of the block "
      "of 24 bytes at 0x5000");
}

TEST_CASE("a copy of ranges that overlap is told by both, and by the block if there is one") {
  Misuse copy = fault_of(MisuseKind::kOverlappingCopy);
  copy.access = {.function = "strcpy", .address = 0x5000, .bytes = 5, .writes = true};
  copy.source = 0x5001;
  const std::string line =
      "copy of ranges that overlap\n  strcpy copies 5 bytes from 0x5001 to 0x5000";
  CHECK(line_of(copy) == line + ", in the block of 24 bytes at 0x5000");
  copy.block.known = false;
  CHECK(line_of(copy) == line);
}

TEST_CASE("faults that found no room are counted") {
  SampleReport sample;
  sample.add_misuses();
  sample.snapshot.misuses_left_out = 3;
  CHECK(render(TextDump{}, sample.report())
            .find("Misused    5 ways, 11 times; 3 more are not shown\n") != std::string::npos);
}

TEST_CASE("rules leave faults out, and are listed with what they matched") {
  SampleReport sample;
  sample.add_misuses();
  alloctap::Suppressions suppressions;
  REQUIRE(
      suppressions.add("double_free:engine::load\nwrite_behind:nobody\nleak:main", "rules").ok());
  const std::string text =
      render(TextDump{.suppressions = &suppressions, .leaks = false}, sample.report());
  CAPTURE(text);
  CHECK(text.find("\nMisused    4 ways, 6 times; suppressed 1 way, 2 times\n") !=
        std::string::npos);
  CHECK(text.find("!1  double free") == std::string::npos);
  CHECK(text.find("!1  write behind a block\n") != std::string::npos);
  CHECK(text.find("\nMisuse suppressed, by rule (ways, times)\n"
                  "  1  2  double_free:engine::load   rules:1\n") != std::string::npos);
  CHECK(text.find("\nRules that matched nothing\n  write_behind:nobody   rules:2\n") !=
        std::string::npos);
  CHECK(text.find("Leaked") == std::string::npos);
  CHECK(text.find("leak:main") == std::string::npos);
}

TEST_CASE("an allow-list is told with what it let through") {
  SampleReport sample;
  sample.add_misuses();
  alloctap::Suppressions suppressions;
  REQUIRE(suppressions.add("only-misuse:engine::load\nonly-leak:nobody", "rules").ok());
  const std::string text = render(TextDump{.suppressions = &suppressions}, sample.report());
  CAPTURE(text);
  CHECK(text.find("\nMisuse let through, by rule (ways, times)\n") != std::string::npos);
  CHECK(text.find("  only-misuse:engine::load   rules:1\n") != std::string::npos);
  CHECK(text.find("\nLeaked     nothing; suppressed ") != std::string::npos);
  CHECK(text.find("\nRules that matched nothing\n  only-leak:nobody   rules:2\n") !=
        std::string::npos);
}

TEST_CASE("a report of a type without misuse has its rules, but nothing of misuse") {
  const SampleReport sample;
  constexpr alloctap::ReportFeatures kNone{.owners = false, .misuses = false, .game_frames = false};
  const alloctap::ReportWith<kNone> without{sample.report()};
  CHECK(render(TextDump{}, without).find("Stacks that hold live memory") != std::string::npos);
  alloctap::Suppressions suppressions;
  REQUIRE(suppressions.add("double_free:engine::load\nleak:engine::load", "rules").ok());
  for (const bool leaks : {false, true}) {
    const TextDump policy{.suppressions = &suppressions, .leaks = leaks};
    CHECK(render(policy, without) == render(policy, sample.report()));
  }
}

TEST_CASE("a report of a type without misuse leaves out what there is of it") {
  SampleReport sample;
  sample.add_misuses();
  sample.snapshot.guards = {.one_in = 1, .placed = 1};
  constexpr alloctap::ReportFeatures kNone{.misuses = false};
  const std::string text = render(TextDump{}, alloctap::ReportWith<kNone>{sample.report()});
  CHECK(text.find("Misuse") == std::string::npos);
  CHECK(text.find("Misused") == std::string::npos);
  CHECK(text.find("guarded") == std::string::npos);
}
