#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/record_dump.hpp"
#include "alloctap/dump/recording/record_tables.hpp"
#include "alloctap/dump/recording/saved_report.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/status.hpp"
#include "tests/support/pooled_report.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

void check_round_trip(const SampleReport& sample) {
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record) == alloctap::Status());
  CHECK(render(JsonDump{}, saved.report()) == render(JsonDump{}, sample.report()));
  CHECK(render(TextDump{}, saved.report()) == render(TextDump{}, sample.report()));
  CHECK(render(RecordDump{}, saved.report()) == record);
}

/// A record of `sample` with what cannot be: the report has what was read all the same.
void check_damaged(const SampleReport& sample) {
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record).code() == alloctap::StatusCode::kDataLoss);
  CHECK(saved.report().snapshot.totals.live_bytes == sample.snapshot.totals.live_bytes);
}

}  // namespace

TEST_CASE("a record keeps all of pools") {
  PooledReport sample;
  check_round_trip(sample);
  sample.snapshot.pools.unknown_frees.reset();
  sample.snapshot.pools.wrong_pool_frees = 2;
  sample.snapshot.pools.announced_twice = 3;
  sample.snapshot.pools.unknown_pools = 4;
  sample.snapshot.pools.dropped = 5;
  sample.snapshot.pools.refused_pools = 6;
  check_round_trip(sample);
}

TEST_CASE("a record of a tracker that heard of no pools says so") {
  check_round_trip(TaggedReport());
  PooledReport none;
  none.snapshot.pools.pools.clear();
  none.snapshot.pools.stacks.clear();
  check_round_trip(none);
}

TEST_CASE("a pool that holds more than it ever allocated is damage") {
  PooledReport sample;
  sample.snapshot.pools.pools[1].live_bytes = 1301;
  check_damaged(sample);
}
