// PRESENT: alloctap::LibdwSymbolizer
// PRESENT: dwfl_begin
// ABSENT: alloctap::NoSymbolizer
// ABSENT: alloctap::AbslSymbolizer
#include <alloctap/implement.hpp>
#include <alloctap/symbol/libdw_symbolizer.hpp>

struct Config : alloctap::DefaultConfig {
  using Symbolizer = alloctap::LibdwSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;

int main() {
  const auto session = Tracker::start();
  int block = 0;
  Tracker::Hook::on_allocate(&block, sizeof block);
  Tracker::Hook::on_free(&block);
  alloctap::MemoryOutput output;
  return session.ok() && Tracker::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
