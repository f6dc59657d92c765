// PRESENT: alloctap::JsonDump
// ABSENT: HtmlDump
// ABSENT: kHtmlPage
// PRESENT: rapidjson
// ABSENT: alloctap::TextDump
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/implement.hpp>

struct Config : alloctap::DefaultConfig {};
using Tracker = alloctap::Tracker<Config>;

int main() {
  const auto session = Tracker::start();
  int block = 0;
  Tracker::Hook::on_allocate(&block, sizeof block);
  Tracker::Hook::on_free(&block);
  alloctap::MemoryOutput output;
  return session.ok() && Tracker::dump(alloctap::JsonDump{}, output).ok() ? 0 : 1;
}
