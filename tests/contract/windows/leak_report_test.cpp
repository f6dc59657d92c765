// What MemoryWatcher's users had, and more than once: who holds memory, most bytes first, each with
// the blocks and the stack; while the program goes on, and when it ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "alloctap/hook/windows_heap_hook.hpp"
#include "alloctap/implement.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/dump_key.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/windows/becomes.hpp"

namespace {

using namespace alloctap::testing;

struct LeakConfig : alloctap::DefaultConfig {
  using Hook = alloctap::WindowsHeapHook;
  using Symbolizer = alloctap::DefaultSymbolizer;
};
using Tracker = alloctap::Tracker<LeakConfig>;
using Blocks = std::vector<void*>;

constexpr std::size_t kBytesOfMesh = 100 * 1024;
constexpr std::size_t kBytesOfSound = 60 * 1024;

/// A stack of a report.
struct Holder {
  std::size_t rank = 0;
  double bytes = 0;
  std::size_t blocks = 0;
  std::string frames;
};

/// "#1  400.0 KiB (40.0 %) in 4 blocks; in all ...".
Holder holder_of(const std::string& line) {
  Holder holder;
  char unit[8] = {};
  const int fields = std::sscanf(line.c_str(), "#%zu %lf %7s (%*[^)]) in %zu", &holder.rank,
                                 &holder.bytes, unit, &holder.blocks);
  CAPTURE(line);
  REQUIRE(fields == 4);
  const std::string units[] = {"B", "KiB", "MiB", "GiB"};
  for (const std::string& each : units) {
    if (each == unit) return holder;
    holder.bytes *= 1024;
  }
  FAIL("a unit that no test allocates");
  return holder;
}

std::vector<Holder> holders_of(const std::string& report) {
  std::vector<Holder> holders;
  std::istringstream lines(
      report.substr(report.find("\nStacks that hold live memory, most first")));
  for (std::string line; std::getline(lines, line);) {
    if (line == "Stacks that hold mappings, most first") break;
    if (line.starts_with('#')) holders.push_back(holder_of(line));
    if (line.starts_with("    ")) holders.back().frames += line + '\n';
  }
  return holders;
}

/// Every stack has its rank by bytes, blocks and frames, and none is of the report itself.
void check_order(const std::vector<Holder>& holders) {
  CHECK(holders.size() >= 2);
  for (std::size_t i = 0; i < holders.size(); ++i) {
    CAPTURE(holders[i].frames);
    CHECK(holders[i].rank == i + 1);
    CHECK(holders[i].blocks > 0);
    CHECK(std::ranges::count(holders[i].frames, '\n') >= 2);
    CHECK(holders[i].frames.find("alloctap::") == std::string::npos);
    if (i > 0) CHECK(holders[i].bytes <= holders[i - 1].bytes);
  }
}

/// The one stack through that function.
Holder holder_through(const std::vector<Holder>& holders, const std::string& function) {
  const auto through = [&](const Holder& holder) {
    return holder.frames.find("    " + function + "   ") != std::string::npos;
  };
  CAPTURE(function);
  REQUIRE(std::ranges::count_if(holders, through) == 1);
  return *std::ranges::find_if(holders, through);
}

std::string report_path;
constinit std::atomic<int> reports{0};

void write_report() noexcept {
  if (Tracker::dump(alloctap::TextDump{}, alloctap::FileOutput(report_path)).ok()) ++reports;
}

std::vector<Holder> read_report() {
  std::ifstream file(report_path);
  std::ostringstream text;
  text << file.rdbuf();
  return holders_of(text.str());
}

/// As another program asks for it.
std::vector<Holder> next_report() {
  const int before = reports;
  const alloctap::os::DumpEventName name(::GetCurrentProcessId());
  const alloctap::os::Handle asked(::OpenEventW(EVENT_MODIFY_STATE, FALSE, name.c_str()));
  ::SetEvent(asked.get());
  REQUIRE(becomes(reports, before + 1));
  return read_report();
}

}  // namespace

extern "C" {

ALLOCTAP_NOINLINE void hold_meshes(Blocks& blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(std::malloc(kBytesOfMesh));
}
ALLOCTAP_NOINLINE void hold_sounds(Blocks& blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(::HeapAlloc(::GetProcessHeap(), 0, kBytesOfSound));
  }
}
}

TEST_CASE("each report that is asked for has who holds memory then, most bytes first") {
  static constinit alloctap::os::DumpEvent event;
  const TemporaryDirectory directory;
  report_path = directory.file("leaks.txt");
  Blocks meshes;
  Blocks sounds;
  meshes.reserve(10);
  sounds.reserve(10);
  auto session = Tracker::start();
  CAPTURE(to_string(session.status()));
  REQUIRE(session.ok());
  REQUIRE(event.start(&write_report) == 0);

  hold_meshes(meshes, 4);
  hold_sounds(sounds, 2);
  const std::vector<Holder> first = next_report();
  check_order(first);
  CHECK(holder_through(first, "hold_meshes").bytes == 4 * kBytesOfMesh);
  CHECK(holder_through(first, "hold_meshes").blocks == 4);
  CHECK(holder_through(first, "hold_sounds").bytes == 2 * kBytesOfSound);
  CHECK(holder_through(first, "hold_sounds").blocks == 2);
  CHECK(holder_through(first, "hold_meshes").rank < holder_through(first, "hold_sounds").rank);

  for (int i = 0; i < 3; ++i, meshes.pop_back()) std::free(meshes.back());
  const std::vector<Holder> second = next_report();
  check_order(second);
  CHECK(holder_through(second, "hold_meshes").bytes == kBytesOfMesh);
  CHECK(holder_through(second, "hold_meshes").blocks == 1);
  CHECK(holder_through(second, "hold_sounds").bytes == 2 * kBytesOfSound);
  CHECK(holder_through(second, "hold_sounds").rank < holder_through(second, "hold_meshes").rank);

  event.stop();
  session->end();
  std::free(meshes.back());
  for (void* const sound : sounds) ::HeapFree(::GetProcessHeap(), 0, sound);
}

TEST_CASE("a program that ends tells who holds memory still") {
  constexpr const char* kPath = "ALLOCTAP_TEST_REPORT";
  std::optional<TemporaryDirectory> directory;
  if (std::getenv(kPath) == nullptr) {
    report_path = directory.emplace().file("leaks.txt");
    ::SetEnvironmentVariableA(kPath, report_path.c_str());
  } else {
    report_path = std::getenv(kPath);
  }
  const bool ended = holds_in_child([] {
    static auto session = Tracker::start();
    static Blocks blocks;
    if (!session.ok() || std::atexit([] { write_report(); }) != 0) return false;
    blocks.reserve(10);
    hold_sounds(blocks, 1);
    hold_meshes(blocks, 4);
    std::free(blocks.back());
    std::exit(static_cast<int>(ChildProcess::kHeld));
  });
  ::SetEnvironmentVariableA(kPath, nullptr);
  REQUIRE(ended);
  const std::vector<Holder> left = read_report();
  check_order(left);
  CHECK(holder_through(left, "hold_meshes").bytes == 3 * kBytesOfMesh);
  CHECK(holder_through(left, "hold_meshes").blocks == 3);
  CHECK(holder_through(left, "hold_sounds").blocks == 1);
}
