// PRESENT: alloctap::FlatHashIndex
// ABSENT: alloctap::BasicShadowIndex
#include <alloctap/implement.hpp>

struct Config : alloctap::DefaultConfig {
  using Meta = alloctap::MemoryMetaContainer<alloctap::FlatHashIndex>;
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
