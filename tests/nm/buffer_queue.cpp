// PRESENT: alloctap::BufferQueue
// ABSENT: alloctap::DirectQueue
#include <alloctap/implement.hpp>

struct Config : alloctap::DefaultConfig {
  using Queue = alloctap::BufferQueue;
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
