// PRESENT: alloctap::PoissonSampler
// PRESENT: alloctap::SampledHeap
// ABSENT: alloctap::AdjustableSampling
#include <alloctap/implement.hpp>

struct Config : alloctap::DefaultConfig {
  using Sampling = alloctap::PoissonByBytes<512 * 1024>;
};
using Tracker = alloctap::Tracker<Config>;

int main() {
  const auto session = Tracker::start();
  int block = 0;
  Tracker::Hook::on_allocate(&block, sizeof block);
  Tracker::Hook::on_free(&block);
  return session.ok() && Tracker::snapshot().ok() ? 0 : 1;
}
