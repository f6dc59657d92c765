#include "alloctap/dump/text_dump.hpp"

#include <doctest/doctest.h>

#include <string>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::kVersionString;
using alloctap::ModuleTable;
using alloctap::TextDump;

constexpr std::string_view kGolden =
    R"(: who holds the memory of /opt/game/bin/game (pid 4711)
  command  game --level 3
  hook     interpose, stacks by backtrace, at most 256 frames
  unseen   what nobody sees
  account  2,471,158 events, 1 dropped, 2 frees of unknown blocks, 3 frees not seen
           4 stacks cut short, 5 deeper than the limit; 6.0 MiB mapped by the tracker itself
           6 stacks through code without unwind tables, by its frame pointers

Live now   1.0 MiB in 13 blocks (1,089,538 bytes); at the peak 3.0 MiB
In all     1,235,579 allocations of 5.1 MiB, 1,235,566 deallocations, 1,234,818 temporary (99.9 %)
Mapped     8.0 KiB in 2 mappings; at the peak 12.0 KiB

Stacks that hold live memory, most first

#1  1.0 MiB (96.2 %) in 1 block; in all 5 of 5.0 MiB, 1 temporary
    engine::parse   0x2028
    main   0x3030

#2  40.0 KiB (3.8 %) in 10 blocks; in all 1,000 of 64.0 KiB, 250 temporary
    engine::load(char const*)   0x1010
    engine::parse   0x2020
    main   0x3030

#3  3 B (0.0 %) in 2 blocks; in all 7 of 70 B, 0 temporary
    (stack unknown)

Stacks that hold mappings, most first

#1  8.0 KiB in 2 mappings
    engine::load(char const*)   0x1010
    engine::parse   0x2020
    main   0x3030
)";

void function_of_this_program() {}

}  // namespace

TEST_CASE("a report is the account, then the totals, then who holds most") {
  const SampleReport sample;
  CHECK(render(TextDump{}, sample.report()) ==
        "alloctap " + std::string(kVersionString) + std::string(kGolden));
}

TEST_CASE("a report shows as many stacks as it is asked for, and how many there are") {
  const SampleReport sample;
  const std::string text = render(TextDump{.most_stacks = 1}, sample.report());
  CHECK(text.find("Stacks that hold live memory, most first (1 of 3)") != text.npos);
  CHECK(text.find("#1  1.0 MiB") != text.npos);
  CHECK(text.find("#2") == text.npos);
  CHECK(render(TextDump{.most_stacks = 3}, sample.report()).find(" of 3)") == text.npos);
  const std::string none = render(TextDump{.most_stacks = 0}, sample.report());
  CHECK(none.find("#1") == none.npos);
  CHECK(none.find("Live now") != none.npos);
}

TEST_CASE("a report has 20 stacks unless told otherwise") {
  SampleReport sample;
  for (std::uintptr_t i = 1; i < 40; ++i) {
    sample.add({sample.intern({0x5000 + i}), {1, 100, 0}, 1, 100});
  }
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("(20 of 42)") != text.npos);
  CHECK((text.find("#20  ") != text.npos && text.find("#21  ") == text.npos));
}

TEST_CASE("a sampled report opens with what that means for its numbers") {
  SampleReport sample;
  CHECK(render(TextDump{}, sample.report()).find("sampled") == std::string::npos);
  sample.snapshot.sampling = {.policy = {.name = "poisson-by-bytes", .mean_bytes = 512 << 10},
                              .exact = false,
                              .live_samples = 1234,
                              .live_bytes_margin = 9 << 20};
  sample.snapshot.account.unmatched_frees.reset();
  sample.snapshot.totals.live_bytes = 503 << 20;
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("\n  sampled  1 in about 512.0 KiB; live bytes 503.0 MiB +- 9.0 MiB (95 %), from "
                  "1,234 samples\n           live and stack numbers are estimates, calls are "
                  "counted exactly\n") != text.npos);
  CHECK(text.find("frees of unknown blocks cannot be told") != text.npos);
  sample.snapshot.sampling.policy = {.name = "my-own"};
  CHECK(render(TextDump{}, sample.report()).find("\n  sampled  by my-own: live and stack") !=
        std::string::npos);
}

TEST_CASE("a report says of which sizes it has stacks, and names those that have none") {
  SampleReport sample;
  const auto line = [&sample](std::uint64_t least, std::uint64_t most) {
    sample.snapshot.sampling.policy.min_bytes = least;
    sample.snapshot.sampling.policy.max_bytes = most;
    const std::string text = render(TextDump{}, sample.report());
    const std::size_t at = text.find("  stacks   ");
    return at == text.npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  CHECK(line(0, UINT64_MAX).empty());
  CHECK(line(1024, UINT64_MAX) == "  stacks   of blocks from 1,024 bytes on only");
  CHECK(line(0, 4096) == "  stacks   of blocks up to 4,096 bytes only");
  CHECK(line(1, 2) == "  stacks   of blocks from 1 byte on, up to 2 bytes only");
  sample.add({alloctap::kStackNotTaken, {5, 9 << 20, 0}, 1, 9 << 20});
  CHECK(render(TextDump{}, sample.report()).find("    (no stack: size outside the range)\n") !=
        std::string::npos);
}

TEST_CASE("a session that was paused is reported as such") {
  SampleReport sample;
  sample.snapshot.account.pauses = 2;
  sample.snapshot.account.unmatched_frees.reset();
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("1 dropped, frees of unknown blocks cannot be told, 3 frees not seen\n") !=
        text.npos);
  CHECK(text.find("\n           paused 2 times: what was allocated meanwhile is in no number\n") !=
        text.npos);
}

TEST_CASE("where many stacks end in code without unwind tables a report says what may see more") {
  SampleReport sample;
  const auto points_at_frame_pointers = [&sample] {
    return render(TextDump{}, sample.report()).find("--stack=frame-pointer") != std::string::npos;
  };
  sample.snapshot.account.failed_unwinds = sample.snapshot.totals.allocations / 10;
  CHECK_FALSE(points_at_frame_pointers());
  sample.backend.stack = "unwind-table";
  CHECK(points_at_frame_pointers());
  --sample.snapshot.account.failed_unwinds;
  CHECK_FALSE(points_at_frame_pointers());
  sample.snapshot.account.failed_unwinds = sample.snapshot.totals.allocations = 0;
  CHECK_FALSE(points_at_frame_pointers());
}

TEST_CASE("a report of nothing is an account and totals") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.snapshot.mappings.clear();
  sample.snapshot.totals = {};
  sample.snapshot.mapping_totals = {};
  sample.backend.blind_spots = {};
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("Live now   0 B in 0 blocks (0 bytes); at the peak 0 B") != text.npos);
  CHECK(text.find("0 temporary (0.0 %)") != text.npos);
  CHECK(text.find("Stacks that") == text.npos);
  CHECK(text.find("unseen") == text.npos);
}

TEST_CASE("what a hook cannot see is said in lines that fit a terminal") {
  SampleReport sample;
  sample.backend.blind_spots =
      "calls bound inside a module (static allocators, -Bsymbolic, RTLD_DEEPBIND), memory that the "
      "C library maps for itself (thread stacks, the heap's own pages), raw system calls";
  CHECK(render(TextDump{}, sample.report())
            .find("\n  unseen   calls bound inside a module (static allocators, -Bsymbolic, "
                  "RTLD_DEEPBIND), memory that\n           the C library maps for itself (thread "
                  "stacks, the heap's own pages), raw system calls\n  account  ") !=
        std::string::npos);
}

TEST_CASE("one of anything is said in the singular") {
  SampleReport sample;
  sample.snapshot.totals.live_allocations = 1;
  sample.snapshot.mapping_totals.live_mappings = 1;
  sample.snapshot.mappings[0].live_mappings = 1;
  sample.snapshot.totals.allocations = sample.snapshot.totals.deallocations = 1;
  sample.snapshot.account = {.events = 1,
                             .unmatched_frees = 1,
                             .unseen_frees = 1,
                             .failed_unwinds = 1,
                             .unlogged_events = 1};
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("in 1 block (1,089,538 bytes)") != text.npos);
  CHECK(text.find("Mapped     8.0 KiB in 1 mapping; at the peak") != text.npos);
  CHECK(text.find("#1  8.0 KiB in 1 mapping\n") != text.npos);
  CHECK(text.find("In all     1 allocation of 5.1 MiB, 1 deallocation, ") != text.npos);
  CHECK(text.find("  account  1 event, 0 dropped, 1 free of unknown blocks, 1 free not seen\n"
                  "           1 stack cut short, 0 deeper") != text.npos);
  CHECK(text.find("           1 event is in every number, but not") != text.npos);
}

TEST_CASE("a report says that its numbers may be in the middle of a change") {
  SampleReport sample;
  const std::string_view warning = "a thread was stopped inside the tracker";
  CHECK(render(TextDump{}, sample.report()).find(warning) == std::string::npos);
  sample.snapshot.account.consistent = false;
  CHECK(render(TextDump{}, sample.report()).find(warning) != std::string::npos);
}

TEST_CASE("a frame in a module is shown by the file's name and the place in it") {
  SampleReport sample;
  sample.modules = ModuleTable::read();
  const auto address = reinterpret_cast<std::uintptr_t>(&function_of_this_program);
  const alloctap::Module* module = sample.modules.find(address);
  REQUIRE(module != nullptr);
  sample.add({sample.intern({address + 1}), {1, 9 << 20, 0}, 1, 9 << 20});
  const std::string text = render(TextDump{}, sample.report());

  char place[32];
  std::snprintf(place, sizeof place, "+0x%zx\n", address - module->bias);
  const std::string file(module->path.substr(module->path.rfind('/') + 1));
  CHECK(text.find("    ??   " + file + place) != text.npos);
}

TEST_CASE("a frame is shown with its file and line, behind what was inlined into it") {
  SampleReport sample;
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::token", "src/token.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "src/parse.cpp", 42},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "main.cpp", 0}};
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("    engine::token   src/token.hpp:7   (inlined)\n"
                  "    engine::parse   src/parse.cpp:42   0x2028\n"
                  "    main   main.cpp   0x3030\n") != text.npos);
}

TEST_CASE("with suppressions a report shows what leaked, and what each rule kept out of that") {
  SampleReport sample;
  alloctap::Suppressions suppressions;
  REQUIRE(suppressions.add("leak:nobody\nleak:engine::load", "rules.txt").ok());
  const TextDump policy{.suppressions = &suppressions};
  const std::string text = render(policy, sample.report());
  CHECK(text.find(
            "\nLeaked     1.0 MiB in 3 blocks of 2 stacks; suppressed 40.0 KiB in 10 blocks\n") !=
        text.npos);
  CHECK(text.find("\nStacks that leaked, most first\n\n#1  1.0 MiB") != text.npos);
  CHECK(text.find("Stacks that hold live memory") == text.npos);
  CHECK(text.find("#2  3 B") != text.npos);
  CHECK(text.find("\n#3") == text.npos);
  CHECK(text.find("\nSuppressed, by rule (blocks, bytes)\n"
                  "  10  40.0 KiB  leak:engine::load   rules.txt:2\n"
                  "\nRules that matched nothing\n"
                  "  leak:nobody   rules.txt:1\n\nStacks that hold mappings") != text.npos);
}

TEST_CASE("a report of no leaks says so, and lists no rules where there are none") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  alloctap::Suppressions suppressions;
  const TextDump policy{.suppressions = &suppressions};
  std::string text = render(policy, sample.report());
  CHECK(text.find("\nLeaked     nothing; suppressed 0 B in 0 blocks\n") != text.npos);
  CHECK(text.find("Stacks that leaked") == text.npos);
  CHECK(text.find("ules") == text.npos);
  CHECK(text.find("by rule") == text.npos);
  REQUIRE(suppressions.add("leak:a", "rules").ok());
  text = render(policy, sample.report());
  CHECK(text.find("by rule") == text.npos);
  CHECK(text.find("Rules that matched nothing\n  leak:a   rules:1\n") != text.npos);
}

TEST_CASE("rules name the frames of stacks that are not shown") {
  SampleReport sample;
  alloctap::Suppressions suppressions;
  REQUIRE(suppressions.add("leak:main", "rules").ok());
  const std::string text =
      render(TextDump{.most_stacks = 0, .suppressions = &suppressions}, sample.report());
  CHECK(text.find("Leaked     3 B in 2 blocks of 1 stack; suppressed 1.0 MiB in 11 blocks") !=
        text.npos);
}

TEST_CASE("only what is shown is symbolized") {
  static std::size_t asked = 0;
  const SampleReport sample;
  alloctap::Report report = sample.report();
  report.symbolize = [](std::span<const alloctap::CodeAddress> places,
                        alloctap::Symbols&) noexcept { asked += places.size(); };
  CHECK(render(TextDump{.most_stacks = 1}, report).find("#1") != std::string::npos);
  CHECK(asked == 4);
}

TEST_CASE("what the command line holds cannot break the lines of a report") {
  SampleReport sample;
  sample.program.command = "game\nLive now   9 TiB\nx";
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("  command  game Live now   9 TiB x\n") != text.npos);
}

TEST_CASE("a report that has no memory for its lists fails, and is not one that lacks them") {
  SampleReport sample;
  for (std::uintptr_t i = 1; i < 100'000; ++i) {
    sample.add({sample.intern({0x5000 + i}), {1, 100, 0}, 1, 100});
  }
  const alloctap::Report report = sample.report();
  alloctap::DumpOutputArchetype output;
  alloctap::DumpWriter writer(output);
  alloctap::Status status;
  {
    const StarvedArena starved;
    TextDump{}.write(report, writer);
    status = writer.finish();
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
}

TEST_CASE("a report tells what tags and threads hold, and whose a stack is") {
  const TaggedReport sample;
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find(R"(
Live memory by tag, most first
  1.0 MiB (100.0 %) in 13 blocks; in all 1,235,579 of 5.1 MiB, 1,234,818 temporary   (no tag)
  300 B (0.0 %) in 3 blocks; in all 50 of 4.9 KiB, 5 temporary   Game/Sound/Voice
  200 B (0.0 %) in 2 blocks; in all 10 of 1000 B, 1 temporary   Game/Physics

Live memory by thread that allocated it, most first
  8 B (0.0 %) in 1 block; in all 1,235,573 of 64.1 KiB, 1,234,817 temporary   4712
  0 B (0.0 %) in 0 blocks; in all 6 of 5.0 MiB, 1 temporary   game (4711)

Stacks)") != text.npos);
  CHECK(text.find("2 temporary\n    of tag Game/Sound/Voice\n    main") != text.npos);
  CHECK(text.find("1 temporary\n    of tag Game/Physics\n    main") != text.npos);
}

TEST_CASE("a stack of a thread says so") {
  TaggedReport sample;
  sample.add({sample.intern({SampleReport::kMain + 1}, {.thread = 2}), {1, 8, 0}, 1, 8});
  sample.add({sample.intern({SampleReport::kMain + 1}, {.tag = sample.game, .thread = 1}),
              {1, 9, 0},
              1,
              9});
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find("    of thread 4712\n") != text.npos);
  CHECK(text.find("    of tag Game, thread game (4711)\n") != text.npos);
}

TEST_CASE("no text of the program or of a recording forges a line or controls a terminal") {
  alloctap::testing::SampleReport sample;
  const std::string evil = "e\n#1  forged\x1b[31m\xFF";
  sample.program.executable = evil;
  sample.program.command = evil;
  sample.backend.hook = evil;
  sample.backend.stack = evil;
  sample.backend.blind_spots = evil;
  sample.snapshot.sampling = {.policy = {.name = evil}, .exact = false};
  for (auto& function : sample.names) function.name = function.file = evil;
  sample.snapshot.threads.clear();
  sample.add_thread(4711, true, "e\n#1\x1b", {6, 60, 1}, 2, 1000);
  sample.snapshot.threads[0].holding = alloctap::ThreadSummary::Holding{};
  const std::string text = render(alloctap::TextDump{}, sample.report());
  CHECK(text.find('\x1b') == text.npos);
  CHECK(text.find('\xFF') == text.npos);
  CHECK(text.find("\n#1  forged") == text.npos);
  CHECK(text.find("command  e #1  forged\\x1b[31m\\xff\n") != text.npos);
  CHECK(text.find("    e\\n#1  forged") != text.npos);
  CHECK(text.find("e\\n#1\\x1b (4711)\n") != text.npos);
}
