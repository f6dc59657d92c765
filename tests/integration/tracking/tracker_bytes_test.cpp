// What a report says that the tracker holds is what the kernel says.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "alloctap/runtime/arena.hpp"
#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

/// In bytes, as tells_memory prints them; signed, so that differences may be taken.
struct Memory {
  std::int64_t mapped = 0;
  std::int64_t resident = 0;
};

Memory told_by(const Command& command) {
  const Outcome outcome = run(command);
  CHECK(outcome.exit_code() == 0);
  Memory memory;
  std::istringstream(outcome.out) >> memory.mapped >> memory.resident;
  CHECK(memory.resident > 0);
  return memory;
}

/// The same object, without a tracker started in it.
Command with_recording_off(const TrackedProgram& program, bool sampled) {
  Command command = program.untracked();
  command.environment.push_back(sampled ? "LD_PRELOAD=" ALLOCTAP_PRELOAD_CHOSEN_OBJECT
                                        : "LD_PRELOAD=" ALLOCTAP_PRELOAD_OBJECT);
  return command;
}

/// What a tracker took of the system in a program with `blocks` live blocks, and what it says.
struct Taken {
  Memory memory;
  std::int64_t said = 0;
};

Taken taken_for(long blocks, const std::vector<std::string>& options) {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "tells_memory", std::to_string(blocks)});
  const Memory off = told_by(with_recording_off(program, !options.empty()));
  const Memory on = told_by(program.tracked(options));
  CHECK(find_misshapen(program.dump().json(), report_shape(), "") == "");
  return {.memory = {.mapped = on.mapped - off.mapped, .resident = on.resident - off.resident},
          .said = static_cast<std::int64_t>(program.dump().account("tracker_bytes"))};
}

constexpr std::int64_t kPage = 4096;

/// The C library maps a stack for the thread that writes the report, as large as the limit says and
/// with a page in front of it. It is no table of the tracker's, and hardly any of it is ever there.
std::int64_t stack_of_report_thread() {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_STACK, &limit) == 0);
  constexpr std::int64_t kWithoutLimit = 2 << 20;
  const bool limited = limit.rlim_cur != RLIM_INFINITY;
  return (limited ? static_cast<std::int64_t>(limit.rlim_cur) : kWithoutLimit) + kPage;
}

/// What the report itself needs comes after the program has looked: sums of some hundred stacks and
/// of a thousand that might yet come, and a chunk of the arena where the last one is nearly full.
constexpr std::int64_t kReport = 128 * 1024;
constexpr auto kChunk = static_cast<std::int64_t>(alloctap::Arena::kChunkBytes);
/// Pages that are there where recording is off too, but were not written: relocated data and the
/// root of the index. And the stack of the report's thread.
constexpr std::int64_t kOtherPages = 512 * 1024;

}  // namespace

TEST_CASE("a report says what its tracker holds, to the page") {
  std::vector<std::string> options;
  SUBCASE("every allocation is recorded") {}
  SUBCASE("sampled") { options = {"--sample=64K"}; }
  const Taken few = taken_for(1000, options);
  const Taken many = taken_for(500'000, options);
  for (const Taken& taken : {few, many}) {
    CAPTURE(taken.said);
    CAPTURE(taken.memory.mapped);
    const std::int64_t tables = taken.memory.mapped - stack_of_report_thread();
    const std::int64_t report = taken.said - tables;
    CHECK(report >= 0);
    CHECK(report <= kChunk + kReport);
    CHECK(report % kChunk <= kReport);
    CHECK(taken.memory.resident <= taken.said + kOtherPages);
  }
  // A word for 32 bytes: 10 bytes for a block of 80.
  if (options.empty()) CHECK(many.memory.resident - few.memory.resident > 500'000 * 9);
}

TEST_CASE("the tracker of python3 takes less than half of python3's heap") {
  // Prints bytes of anonymous pages that are there, and of all pages.
  const std::string script = R"(
kept = [{i: [str(i)] * 3} for i in range(150000)]
heap = resident = 0
anonymous = False
for line in open("/proc/self/smaps"):
    words = line.split()
    if "-" in words[0]:
        anonymous = len(words) == 5 or words[5] == "[heap]"
    elif words[0] == "Rss:":
        resident += int(words[1]) * 1024
        heap += int(words[1]) * 1024 if anonymous else 0
print(heap, resident)
)";
  TrackedProgram program({"/usr/bin/python3", "-S", "-c", script});
  program.command().environment = {"PATH=/usr/bin:/bin", "PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"};
  std::int64_t heap = 0;
  std::int64_t off = 0;
  std::int64_t on = 0;
  std::istringstream(run(with_recording_off(program, false)).out) >> heap >> off;
  std::int64_t heap_and_tables = 0;
  std::istringstream(run(program.tracked()).out) >> heap_and_tables >> on;
  CAPTURE(heap);
  CAPTURE(on - off);
  CHECK(heap > 50'000'000);
  // Stacks, what is kept for the thread, and chunks of the arena that are not full.
  constexpr std::int64_t kBesideTheIndex = 4 << 20;
  CHECK(on - off <= heap / 2 + kBesideTheIndex);
  CHECK(on - off > heap / 16);
}
