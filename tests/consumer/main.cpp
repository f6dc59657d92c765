// A program of somebody else: a tracker, a report, the version that was asked for.
#include <alloctap/arch/x86_64/entry_patch.hpp>
#include <alloctap/dump/html_dump.hpp>
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/dump/pprof_dump.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/version.hpp>
#include <string_view>

static_assert(std::string_view(alloctap::kVersionString) == EXPECTED_VERSION);

extern "C" void load_level();

using Tracker = alloctap::Tracker<>;

int main() {
  const auto session = Tracker::start();
  int block = 0;
  load_level();
  Tracker::Hook::on_allocate(&block, 12345);
  alloctap::MemoryOutput output;
  const bool dumped = session.ok() && Tracker::dump(alloctap::JsonDump{}, output).ok();
  alloctap::MemoryOutput page;
  if (!session.ok() || !Tracker::dump(alloctap::HtmlDump{}, page).ok()) return 1;
  const bool counted = output.text().find("\"live_bytes\":12345") != output.text().npos;
  const bool marked = output.text().find("loaded by C") != output.text().npos;
  const bool profiled = Tracker::dump(alloctap::PprofDump{}, output).ok();
  const bool decoded = !alloctap::arch::x86_64::thunk_destination({}, 0);
  return decoded && dumped && counted && marked && profiled && output.text().starts_with("\x1F\x8B")
             ? 0
             : 1;
}
