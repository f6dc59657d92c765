// The thread that writes reports leaves a program with one thread as cheap as it was: the C library
// does not count it, and it takes none of the locks that are left out therefore.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/integration/support/process.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
namespace fs = std::filesystem;

std::string told_of(const std::string& way, const std::vector<std::string>& options = {}) {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "one_thread", way});
  const Outcome outcome = run(program.tracked_to("json=" + program.file("%p.json"), options));
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  return outcome.out;
}

// Formats that show leaks, faults or events, and formats that show none of them.
const std::vector<std::string> kFormats{"text", "html", "record", "heaptrack", "chrome-trace"};
const std::vector<std::string> kPlainFormats{"pprof",      "folded",  "dhat",   "massif",
                                             "speedscope", "android", "matrix", "matrix-log"};

std::string locks_taken(const std::string& way, const std::vector<std::string>& options,
                        const std::vector<std::string>& formats = kFormats) {
  TrackedProgram program({ALLOCTAP_PROGRAMS "watches_locks", way, "3.json"});
  std::vector<std::string> all{"--interval=0.2"};
  for (const std::string& format : formats) {
    all.push_back("--dump=" + format + "=" + program.file(format));
  }
  all.insert(all.end(), options.begin(), options.end());
  const Outcome outcome = run(program.tracked_to("json=" + program.file("%n.json"), all));
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  CHECK(fs::exists(program.file("3.json")));
  return outcome.out;
}

}  // namespace

TEST_CASE("the C library takes a tracked program with one thread for one") {
  CHECK(told_of("alone") == "1 1\n");
  CHECK(told_of("alone", {"--interval=0.01", "--signal=USR1"}) == "1 1\n");
  CHECK(told_of("forks") == "1 1\n");
  CHECK(told_of("forks", {"--follow-children"}) == "1 1\n");
}

TEST_CASE("the C library counts a thread of the program's, whatever ids that sets") {
  CHECK(told_of("threads") == "0 0\n");
}

TEST_CASE("a thread that writes reports follows its program to another user" *
          doctest::skip(::geteuid() != 0)) {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "one_thread", "becomes"});
  fs::permissions(program.file(""), fs::perms::all);
  const Outcome outcome = run(program.tracked());
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.out == "1 1\n");
  struct stat dump{};
  REQUIRE(::stat(program.dump_path().c_str(), &dump) == 0);
  CHECK(dump.st_uid == 65534);
  CHECK(dump.st_gid == 65534);
}

TEST_CASE("reports take no lock of the C library's and no memory from it") {
  const std::vector<std::vector<std::string>> ways{{},
                                                   {"--leaks=unreachable"},
                                                   {"--checks=level10"},
                                                   {"--string-checks"},
                                                   {"--events=100M"},
                                                   {"--hook=plt"}};
  for (const auto& options : ways) CHECK(locks_taken("alone", options) == "0 calls, one heap\n");
  CHECK(locks_taken("alone", {}, kPlainFormats) == "0 calls, one heap\n");
}

TEST_CASE("a thread that takes locks of the C library's is seen") {
  CHECK(locks_taken("both", {}) == "4 calls, more heaps\n");
}
