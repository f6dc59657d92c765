#include "alloctap/check/misuse_log.hpp"

#include <doctest/doctest.h>

#include <vector>

using alloctap::CountedMisuse;
using alloctap::Misuse;
using alloctap::MisuseKind;
using alloctap::MisuseLog;

namespace {

Misuse misuse_at(alloctap::StackId stack, MisuseKind kind = MisuseKind::kDoubleFree) {
  Misuse misuse;
  misuse.kind = kind;
  misuse.found.stack = stack;
  return misuse;
}

std::vector<CountedMisuse> entries_of(const MisuseLog& log) {
  std::vector<CountedMisuse> entries;
  log.for_each([&](const CountedMisuse& entry) { entries.push_back(entry); });
  return entries;
}

}  // namespace

TEST_CASE("the same fault at the same stacks is kept once and counted") {
  static constinit MisuseLog log;
  const Misuse* first = log.add(misuse_at(7));
  REQUIRE(first != nullptr);
  CHECK(log.add(misuse_at(7)) == nullptr);
  CHECK(log.add(misuse_at(7)) == nullptr);
  CHECK(log.size() == 1);
  CHECK(entries_of(log)[0].times == 3);
  CHECK(log.found() == 3);
}

TEST_CASE("another kind, call, allocation or free is another fault") {
  static constinit MisuseLog log;
  Misuse other_allocation = misuse_at(7);
  other_allocation.block.allocated.stack = 9;
  Misuse other_free = misuse_at(7);
  other_free.block.gone.stack = 9;
  for (const Misuse& misuse : {misuse_at(7), misuse_at(8), misuse_at(7, MisuseKind::kWrongSize),
                               other_allocation, other_free}) {
    CHECK(log.add(misuse) != nullptr);
  }
  CHECK(log.size() == 5);
}

TEST_CASE("what has no room is counted, and what is known goes on being counted") {
  static constinit MisuseLog log;
  for (alloctap::StackId stack = 1; stack <= MisuseLog::kMaxCount; ++stack) {
    CHECK(log.add(misuse_at(stack)) != nullptr);
  }
  CHECK(log.add(misuse_at(MisuseLog::kMaxCount + 1)) == nullptr);
  CHECK(log.left_out() == 1);
  CHECK(log.size() == MisuseLog::kMaxCount);
  CHECK(log.add(misuse_at(1)) == nullptr);
  CHECK(log.left_out() == 1);
  CHECK(entries_of(log)[0].times == 2);
}
