// Dumps while the program goes on, while other dumps run, in children and without memory: a whole
// report, or an error and nothing under its name.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/dump/folded_dump.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/snapshot/by_module.hpp"
#include "alloctap/status.hpp"
#include "counting_malloc.hpp"
#include "interposed_tracker.hpp"
#include "tests/support/all_dumps.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;
using nlohmann::json;
using T = InterposedTracker;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_whole(const std::string& text) { return !json::parse(text, nullptr, false).is_discarded(); }

/// Allocates and frees one block after the other until it is stopped.
class BusyThread {
 public:
  /// How many pairs it has made.
  std::size_t stop() {
    done_ = true;
    thread_.join();
    return pairs_;
  }
  /// Returns once it is at work.
  void wait_for_work() const {
    while (pairs_ == 0) std::this_thread::yield();
  }

 private:
  void run() {
    while (!done_) {
      std::free(escape(std::malloc(24)));
      ++pairs_;
    }
  }

  std::atomic<bool> done_{false};
  std::atomic<std::size_t> pairs_{0};
  std::thread thread_{[this] { run(); }};
};

/// Everything that a program may ask of its snapshots, `rounds` times; false where one fails.
bool report_all(int rounds, const Suppressions& suppressions) {
  bool sound = true;
  for (int i = 0; i < rounds; ++i) {
    MemoryOutput output;
    sound = T::dump(TextDump{.suppressions = &suppressions}, output).ok() && sound;
    sound = T::dump(JsonDump{.suppressions = &suppressions}, output).ok() && sound;
    sound = T::dump(FoldedDump{}, output).ok() && sound;
    const auto snapshot = T::snapshot({.blocks = true});
    const auto modules = T::modules();
    if (!snapshot.ok() || !modules.ok()) return false;
    sound = T::leaks(*snapshot, suppressions).ok() && sound;
    sound = by_module(*snapshot, *modules).ok() && diff(*snapshot, *snapshot).ok() && sound;
  }
  return sound;
}

/// In a child, because it makes memory scarce: whether a dump to `path` with `slack` more bytes of
/// address space ends in a whole file, or in an error and no file.
template <class Policy>
bool dump_without_memory(const Policy& policy, const std::string& path, std::size_t slack) {
  // As in the report of a program that has no memory left.
  const UseInternalArena own;
  const StarvedArena starved;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur += slack;
  if (::setrlimit(RLIMIT_AS, &limit) != 0) return false;
  const alloctap::Status status = T::dump(policy, FileOutput{path});
  const bool there = ::access(path.c_str(), F_OK) == 0;
  return status.ok() ? there : !there && !status.message().empty();
}

}  // namespace

TEST_CASE(
    "reports record nothing and enter the allocator not once, while another thread allocates") {
  const auto session = T::start();
  REQUIRE(session.ok());
  Suppressions suppressions;
  REQUIRE(suppressions.add("leak:nobody\nleak:main", "rules").ok());
  // What is set aside for good at the first time.
  REQUIRE(report_all(1, suppressions));
  const EventCount events;
  const std::size_t calls_before = calls_of_the_original();
  std::size_t pairs = 0;
  bool sound = false;
  {
    const UseInternalArena own;
    BusyThread busy;
    busy.wait_for_work();
    sound = report_all(20, suppressions);
    pairs = busy.stop();
  }
  const std::size_t calls = calls_of_the_original() - calls_before;
  const EventTotals difference = events.so_far();
  CHECK(sound);
  // The thread's own start and end are the C library's affair.
  constexpr std::size_t kOfThread = 20;
  CHECK(pairs > 0);
  CHECK(calls >= 2 * pairs);
  CHECK(calls <= 2 * pairs + kOfThread);
  CHECK(difference.allocations >= pairs);
  CHECK(difference.allocations <= pairs + kOfThread);
  CHECK(difference.live_bytes <= 24 + 1024);
  REQUIRE(difference.unmatched_frees.has_value());
  CHECK(*difference.unmatched_frees <= kOfThread);
}

TEST_CASE("dumps of two threads to one path are whole, and so is what is left there") {
  const auto session = T::start();
  REQUIRE(session.ok());
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.json");
  std::atomic<int> failed{0};
  const auto dump_often = [&] {
    for (int i = 0; i < 20; ++i) {
      if (!T::dump(JsonDump{}, FileOutput{path}).ok()) ++failed;
    }
  };
  std::thread other(dump_often);
  for (int i = 0; i < 20; ++i) {
    if (!T::dump(JsonDump{}, FileOutput{path}).ok()) ++failed;
    CHECK(is_whole(text_of(path)));
  }
  other.join();
  CHECK(failed == 0);
  CHECK(is_whole(text_of(path)));
  const auto files = std::filesystem::directory_iterator(directory.file(""));
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("a dump that an output asks for is refused, and the one that it is in is whole") {
  const auto session = T::start();
  REQUIRE(session.ok());
  std::string text;
  std::vector<alloctap::StatusCode> answers;
  const alloctap::Status status = T::dump(JsonDump{}, CallbackOutput([&](std::string_view piece) {
                                            text += piece;
                                            MemoryOutput inner;
                                            answers.push_back(T::dump(TextDump{}, inner).code());
                                            answers.push_back(T::snapshot().status().code());
                                            answers.push_back(T::modules().status().code());
                                            answers.push_back(T::start().status().code());
                                            return alloctap::Status();
                                          }));
  CHECK(status.ok());
  CHECK(is_whole(text));
  CHECK(answers.size() >= 4);
  for (const alloctap::StatusCode answer : answers) {
    CHECK(answer == alloctap::StatusCode::kFailedPrecondition);
  }
  MemoryOutput after;
  CHECK(T::dump(TextDump{}, after).ok());
}

TEST_CASE("a child writes whole dumps, whatever its parent's threads were at") {
  const auto session = T::start();
  REQUIRE(session.ok());
  const TemporaryDirectory directory;
  std::atomic<bool> done{false};
  std::thread dumper([&] {
    while (!done) {
      MemoryOutput output;
      static_cast<void>(T::dump(JsonDump{}, output));
    }
  });
  BusyThread busy;
  for (int i = 0; i < 20; ++i) {
    const std::string path = directory.file("child.json");
    CHECK(holds_in_child(
        [&] { return T::dump(JsonDump{}, FileOutput{path}).ok() && is_whole(text_of(path)); }));
  }
  done = true;
  dumper.join();
  busy.stop();
}

TEST_CASE("an output may fork: both processes write the whole dump, and the child others") {
  const auto session = T::start();
  REQUIRE(session.ok());
  std::string text;
  pid_t child = -1;
  const alloctap::Status status = T::dump(JsonDump{}, CallbackOutput([&](std::string_view piece) {
                                            if (child == -1) child = ::fork();
                                            text += piece;
                                            return alloctap::Status();
                                          }));
  const bool sound = status.ok() && is_whole(text);
  if (child == 0) {
    MemoryOutput another;
    ::_exit(sound && T::dump(JsonDump{}, another).ok() && is_whole(std::string(another.text()))
                ? 0
                : 1);
  }
  CHECK(sound);
  REQUIRE(child > 0);
  int ending = -1;
  CHECK(::waitpid(child, &ending, 0) == child);
  CHECK(ending == 0);
  MemoryOutput after;
  CHECK(T::dump(TextDump{}, after).ok());
}

TEST_CASE("a dump that finds no memory leaves no half of a report") {
  const auto session = T::start();
  REQUIRE(session.ok());
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) blocks.push_back(escape(std::malloc(24)));
  const TemporaryDirectory directory;
  constexpr std::size_t kStep = 40 * 1024;
  constexpr std::size_t kPlenty = 100 * kStep;
  std::size_t written = 0;
  for (std::size_t slack = 0; slack < kPlenty; slack += slack < kPlenty / 3 ? kStep : 10 * kStep) {
    CAPTURE(slack);
    const std::string path = directory.file("json");
    CHECK(holds_in_child([&] { return dump_without_memory(JsonDump{}, path, slack); }));
    if (slack == 0) CHECK_FALSE(std::filesystem::exists(path));
    if (!std::filesystem::exists(path)) continue;
    ++written;
    CHECK(is_whole(text_of(path)));
    std::filesystem::remove(path);
  }
  CHECK(written > 0);
  for (void* block : blocks) std::free(block);
}

TEST_CASE_TEMPLATE_DEFINE("a dump of any format that finds no memory leaves no half of it", Policy,
                          without_memory) {
  const auto session = T::start();
  REQUIRE(session.ok());
  void* const block = escape(std::malloc(24));
  const TemporaryDirectory directory;
  const std::string whole = directory.file("whole");
  REQUIRE(T::dump(Policy{}, FileOutput{whole}).ok());
  // Times and the tracker's own bytes have more digits or fewer.
  const auto least_size = std::filesystem::file_size(whole) * 9 / 10;
  const std::string path = directory.file("report");
  bool written = false;
  for (std::size_t slack = 0; slack < std::size_t{64} << 20; slack = slack * 3 / 2 + 20'000) {
    CAPTURE(slack);
    CHECK(holds_in_child([&] { return dump_without_memory(Policy{}, path, slack); }));
    written = std::filesystem::exists(path);
    if (slack == 0) CHECK_FALSE(written);
    if (!written) continue;
    CHECK(std::filesystem::file_size(path) >= least_size);
    std::filesystem::remove(path);
  }
  CHECK(written);
  std::free(block);
}
TEST_CASE_TEMPLATE_APPLY(without_memory, AllDumps);
