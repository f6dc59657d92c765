#include "alloctap/dump/matrix_dump.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "alloctap/dump/matrix_log_dump.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using alloctap::MatrixDump;
using alloctap::MatrixLogDump;
using alloctap::Module;
using alloctap::ModuleTable;
using alloctap::StackId;
using alloctap::testing::render;
using alloctap::testing::SampleReport;
using nlohmann::json;

/// Four modules, no runtime among them, that hold 4000, 3000, 2000 and 1000 bytes in one block
/// each; the first holds 4 more stacks of 10 blocks with 100 bytes.
struct FourModules {
  FourModules() {
    sample.snapshot.stacks.clear();
    sample.snapshot.mappings.clear();
    std::uintptr_t start = 0x100000;
    for (std::uint64_t bytes = 4000; bytes > 0; bytes -= 1000, start += 0x10000) {
      Module module;
      module.start = module.bias = start;
      module.end = start + 0x10000;
      module.path = names[modules.size()];
      module.unloaded_before = 1'000'000;
      CHECK(sample.modules.add_unloaded(module));
      modules.push_back(module);
      add({start + 0x11, start + 0x21}, 1, bytes);
    }
    for (std::uintptr_t i = 0; i < 4; ++i) add({0x100000 + 0x101 + i}, 10, 100);
  }

  void add(const std::vector<std::uintptr_t>& frames, std::uint64_t count, std::uint64_t bytes) {
    sample.add({sample.intern(frames), {count, bytes, 0}, count, bytes});
  }

  std::vector<std::string> names{"/lib/one.so", "/lib/two.so", "/lib/three.so", "/lib/four.so"};
  std::vector<Module> modules;
  SampleReport sample;
};

}  // namespace

TEST_CASE("the JSON has all modules, and three stacks of each of three") {
  FourModules four;
  const json file = json::parse(render(MatrixDump{}, four.sample.report()));
  CHECK(file["SoNativeSize"] == json::parse(R"([
      {"so": "/lib/one.so", "size": "4400"}, {"so": "/lib/two.so", "size": "3000"},
      {"so": "/lib/three.so", "size": "2000"}, {"so": "/lib/four.so", "size": "1000"}])"));
  CHECK(file["SoMmapSize"] == json::array());
  CHECK(file["mmap"] == json::array());
  REQUIRE(file["NativeHeap"].size() == 3);
  CHECK(file["NativeHeap"][0] ==
        json::parse(R"({"so": "/lib/one.so", "size": "4400", "top_stacks": [
      {"size": "4000", "stack": "/lib/one.so;10;20;"}, {"size": "100", "stack": "/lib/one.so;100;"},
      {"size": "100", "stack": "/lib/one.so;101;"}]})"));
  CHECK(file["NativeHeap"][2]["top_stacks"] ==
        json::parse(R"([{"size": "2000", "stack": "/lib/three.so;10;20;"}])"));
}

TEST_CASE("a path is told where it changes; memory is the innermost module's that is no runtime") {
  FourModules four;
  Module libc;
  libc.start = libc.bias = 0x900000;
  libc.end = 0x910000;
  libc.path = "/lib/libc.so.6";
  libc.unloaded_before = 1'000'000;
  CHECK(four.sample.modules.add_unloaded(libc));
  four.add({0x900011, 0x900021, 0x130031, 0x900041, 0x5}, 1, 9000);
  const json file = json::parse(render(MatrixDump{}, four.sample.report()));
  CHECK(file["NativeHeap"][0]["so"] == "/lib/four.so");
  CHECK(file["NativeHeap"][0]["top_stacks"][0]["stack"] ==
        "/lib/libc.so.6;10;20;/lib/four.so;30;/lib/libc.so.6;40;[unknown];4;");
}

TEST_CASE("what has no module is [unknown], and mappings stand apart") {
  const SampleReport sample;
  const json file = json::parse(render(MatrixDump{}, sample.report()));
  CHECK(file["SoNativeSize"] == json::parse(R"([{"so": "[unknown]", "size": "1089538"}])"));
  CHECK(file["SoMmapSize"] == json::parse(R"([{"so": "[unknown]", "size": "8192"}])"));
  CHECK(file["mmap"][0]["top_stacks"] ==
        json::parse(R"([{"size": "8192", "stack": "[unknown];1010;2020;3030;"}])"));
  CHECK(file["NativeHeap"][0]["top_stacks"][2] == json::parse(R"({"size": "3", "stack": ""})"));
  CHECK(file["alloctap"]["account"].dump().find("/opt/game/bin/game") != std::string::npos);
}

TEST_CASE("limits of the JSON are options") {
  FourModules four;
  const json file = json::parse(render(
      MatrixDump{.most_modules = 4, .most_stacks = 1, .least_bytes = 2000}, four.sample.report()));
  REQUIRE(file["NativeHeap"].size() == 3);
  CHECK(file["NativeHeap"][0]["top_stacks"].size() == 1);
}

TEST_CASE("the log has modules with their sizes, the sum, stacks and mappings") {
  SampleReport sample;
  const std::string text = render(MatrixLogDump{}, sample.report());
  const std::string head =
      "dump_callers: count = 3\n"
      "caller alloc size =    1089538 b, so = [unknown]\n"
      "top 20 (size * count):\n"
      "   size =    1048575 b, count = 1\n"
      "   size =       4096 b, count = 10\n"
      "   size =          2 b, count = 1\n"
      "   size =          1 b, count = 1\n"
      "\n---------------------------------------------------\n"
      "| caller total size = 1089538 b, ptr totals counts = 13.\n"
      "---------------------------------------------------\n\n"
      "dump_stacks: hash count = 3\n"
      "dump_stacks: backtrace frame counts = 5\n\n"
      "malloc size of so ([unknown]) : remaining size = 1089538\n"
      "malloc size of the same stack = 1048575\n stacktrace : \n"
      "      | #pc 2028 engine::parse ([unknown])\n"
      "      | #pc 3030 main ([unknown])\n\n"
      "malloc size of the same stack = 40960\n stacktrace : \n"
      "      | #pc 1010 engine::load(char const*) ([unknown])\n"
      "      | #pc 2020 engine::parse ([unknown])\n"
      "      | #pc 3030 main ([unknown])\n\n"
      "malloc size of the same stack = 3\n stacktrace : \n"
      "      | [stack unknown]\n\n"
      "############################# mmap #############################\n\n"
      "dump_callers: count = 1\n"
      "caller alloc size =       8192 b, so = [unknown]\n"
      "\n---------------------------------------------------\n"
      "| caller total size = 8192 b, ptr totals counts = 2.\n";
  CHECK(text.substr(0, head.size()) == head);
  for (const char* part :
       {"| alloctap ", "4711", " 1 dropped", "6291456 b mapped by the tracker"}) {
    CHECK(text.find(part) != text.npos);
  }
}

TEST_CASE("limits of the log are options") {
  FourModules four;
  const std::string text =
      render(MatrixLogDump{.most_sizes = 1, .least_bytes = 4000}, four.sample.report());
  CHECK(text.find("top 1 (size * count):\n   size =       4000 b, count = 1\ncaller") != text.npos);
  CHECK(text.find("malloc size of so (/lib/two.so) : remaining size = 3000\n"
                  "skip printing stacktrace for size less than 4000\n") != text.npos);
}
