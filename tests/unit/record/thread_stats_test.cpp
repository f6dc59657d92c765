#include "alloctap/record/thread_stats.hpp"

#include <doctest/doctest.h>

namespace {

using alloctap::EventCounters;
using alloctap::LastAllocation;
using alloctap::StackTotals;

}  // namespace

TEST_CASE("a block is temporary once, where its thread frees it before it allocates another") {
  const int block = 0;
  const int other = 0;
  StackTotals::Entry entry;
  LastAllocation last;
  last.note_free(nullptr, 0);
  last.remember(&block, &entry, 1);
  last.note_free(&other, 1);
  CHECK(entry.temporary_allocations == 0);
  last.note_free(&block, 1);
  last.note_free(&block, 1);
  CHECK(entry.temporary_allocations == 1);
  last.remember(&block, &entry, 1);
  last.forget();
  last.note_free(&block, 1);
  CHECK(entry.temporary_allocations == 1);
}

TEST_CASE("what the thread before allocated last is nobody's temporary block") {
  const int block = 0;
  StackTotals::Entry entry;
  LastAllocation last;
  last.remember(&block, &entry, 1);
  last.note_free(&block, 2);
  CHECK(entry.temporary_allocations == 0);
}

TEST_CASE("the sum of counters is that of each") {
  EventCounters sum{1, 2, 3, 4, 5, 6, 7, 8, 9};
  sum += EventCounters{10, 20, 30, 40, 50, 60, 70, 80, 90};
  CHECK(sum.allocations == 11);
  CHECK(sum.allocated_bytes == 22);
  CHECK(sum.deallocations == 33);
  CHECK(sum.unmatched_frees == 44);
  CHECK(sum.unseen_frees == 55);
  CHECK(sum.dropped == 66);
  CHECK(sum.failed_unwinds == 77);
  CHECK(sum.frame_pointer_unwinds == 88);
  CHECK(sum.truncated_stacks == 99);
}

TEST_CASE("while a policy samples, calls are counted one by one") {
  const int block = 0;
  const int other = 0;
  alloctap::SampledCalls calls;
  calls.count_allocation(&block, 100);
  CHECK_FALSE(calls.count_skipped_temporary(&other));
  CHECK(calls.count_skipped_temporary(&block));
  CHECK_FALSE(calls.count_skipped_temporary(&block));
  calls.count_allocation(&other, 10);
  calls.forget_last();
  CHECK_FALSE(calls.count_skipped_temporary(&other));
  calls.count_lasting();
  calls.count_lasting();
  calls.uncount_lasting();
  CHECK(calls.totals().allocations == 2);
  CHECK(calls.totals().allocated_bytes == 110);
  CHECK(calls.totals().temporary_allocations == 1);
  CHECK(calls.deallocations() == 2);
}

TEST_CASE("the free of a sample is never skipped, and of a temporary one found out afterwards") {
  const int block = 0;
  const int other = 0;
  alloctap::SampledCalls calls;
  calls.count_allocation(&block, 100);
  calls.note_sample();
  CHECK_FALSE(calls.count_skipped_temporary(&block));
  calls.count_lasting();
  CHECK_FALSE(calls.count_temporary(&other));
  CHECK(calls.count_temporary(&block));
  CHECK_FALSE(calls.count_temporary(&block));
  calls.count_allocation(&other, 100);
  calls.count_lasting();
  CHECK(calls.count_temporary(&other));
  CHECK(calls.totals().temporary_allocations == 2);
  CHECK(calls.deallocations() == 2);
}

TEST_CASE("what the countdown lets pass is counted and taken off it, and nothing else is") {
  const int block = 0;
  std::uint64_t countdown = 100;
  alloctap::SampledCalls calls;
  calls.begin(countdown, 1);
  CHECK(calls.count_skipped(&block, 60));
  CHECK(countdown == 40);
  CHECK_FALSE(calls.count_skipped(&block, 41));
  CHECK_FALSE(calls.count_skipped(&block, UINT64_MAX));
  CHECK_FALSE(calls.count_skipped(&block, 0));
  CHECK(calls.count_skipped(&block, 40));
  CHECK(countdown == 0);
  CHECK(calls.totals().allocations == 2);
  CHECK(calls.totals().allocated_bytes == 100);
  CHECK(calls.count_skipped_temporary(&block));
  CHECK_FALSE(calls.count_skipped(&block, 1));
  CHECK_FALSE(calls.count_skipped(&block, 0));
}

TEST_CASE("what the thread before allocated last is not taken for this one's") {
  const int block = 0;
  std::uint64_t countdown = 0;
  alloctap::SampledCalls calls;
  CHECK_FALSE(calls.has_begun(0));
  calls.begin(countdown, 1);
  CHECK(calls.has_begun(1));
  CHECK_FALSE(calls.has_begun(2));
  calls.count_allocation(&block, 100);
  calls.begin(countdown, 2);
  CHECK_FALSE(calls.count_skipped_temporary(&block));
  CHECK_FALSE(calls.count_temporary(&block));
}
