// PRESENT: alloctap::process_pools
// PRESENT: alloctap::TextPools
// ABSENT: JsonDump
#include <alloctap/implement.hpp>
#include <alloctap/named_pools.hpp>

struct Config : alloctap::DefaultConfig {
  using Pools = alloctap::NamedPools;
};
using Tracker = alloctap::Tracker<Config>;

int main() {
  const auto session = Tracker::start();
  alloctap::MemoryOutput output;
  return session.ok() && Tracker::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
