#include "alloctap/dump/android_heap_dump.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/sample_report.hpp"

namespace {

using alloctap::AndroidHeapDump;
using alloctap::ModuleTable;
using alloctap::testing::render;
using alloctap::testing::SampleReport;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("a dump has a head, records of what is live, names for their frames, and a map") {
  const SampleReport sample;
  CHECK(render(AndroidHeapDump{.names = true}, sample.report()) ==
        "Android Native Heap Dump v1.2\n\n"
        "Build fingerprint: 'unknown'\n\n"
        "Total memory: 1089538\n"
        "Allocation records: 4\n"
        "Backtrace size: 256\n\n"
        "z 1  sz 2  num 1  bt 0\n"
        "z 1  sz 1  num 1  bt 0\n"
        "z 1  sz 4096  num 10  bt 1010 2020 3030\n"
        "  bt_info {\"\" 1010 \"engine::load(char const*)\" 0} {\"\" 2020 \"engine::parse\" 0}"
        " {\"\" 3030 \"main\" 0}\n"
        "z 1  sz 1048575  num 1  bt 2028 3030\n"
        "  bt_info {\"\" 2028 \"engine::parse\" 0} {\"\" 3030 \"main\" 0}\n"
        "MAPS\n"
        "END\n");
}

TEST_CASE("names are an option") {
  const SampleReport sample;
  const std::string text = render(AndroidHeapDump{}, sample.report());
  CHECK_FALSE(contains(text, "bt_info"));
  CHECK(contains(text, "bt 1010 2020 3030\nz 1"));
}

TEST_CASE("sizes are exact where the snapshot has its blocks") {
  SampleReport sample;
  sample.snapshot.totals.live_allocations = 2;
  for (const std::uint64_t size : {std::uint64_t{30}, std::uint64_t{40}}) {
    static_cast<void>(
        sample.snapshot.blocks.push_back({size, size, sample.snapshot.stacks[2].stack}));
  }
  const std::string text = render(AndroidHeapDump{}, sample.report());
  CHECK(contains(text, "Total memory: 70\nAllocation records: 2\n"));
  CHECK(contains(text, "z 1  sz 40  num 1  bt 2028 3030\n"));
  CHECK(contains(text, "z 1  sz 30  num 1  bt 2028 3030\n"));
}

TEST_CASE("names cannot end a text or a line, and an inlined function gives way to the real one") {
  SampleReport sample;
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::next", "next.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "operator\"\"_x\n", "parse.cpp", 42}};
  const std::string text = render(AndroidHeapDump{.names = true}, sample.report());
  CHECK(contains(text, "{\"\" 2028 \"operator''_x \" 0} {\"\" 3030 \"\" 0}\n"));
}

TEST_CASE("frames are told by module and address in its file; the map has all modules") {
  static int place;
  SampleReport sample;
  sample.modules = ModuleTable::read();
  const auto address = reinterpret_cast<std::uintptr_t>(&place);
  const alloctap::Module* module = sample.modules.find(address);
  REQUIRE(module != nullptr);
  sample.add({sample.intern({address + 1}), {1, 100, 0}, 1, 100});
  const std::string text = render(AndroidHeapDump{.names = true}, sample.report());
  char offset[32];
  std::snprintf(offset, sizeof offset, "%zx", std::size_t{address - module->bias});
  CHECK(contains(text, "{\"" + std::string(module->path) + "\" " + offset + " \"\" 0}\n"));
  char range[64];
  for (const alloctap::Module& loaded : sample.modules.loaded()) {
    std::snprintf(range, sizeof range, "\n%zx-%zx r-xp 00000000 00:00 0    ", loaded.start,
                  loaded.end);
    CHECK(contains(text, range + std::string(loaded.path) + "\n"));
  }
}
