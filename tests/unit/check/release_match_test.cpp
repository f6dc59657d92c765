#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "alloctap/check/block_faults.hpp"

using alloctap::AllocationKind;
using alloctap::DeallocationEvent;
using alloctap::DeallocationKind;
using alloctap::find_release_fault;
using alloctap::ReleaseFault;

namespace {

DeallocationEvent release_by(DeallocationKind kind, std::size_t size = 0,
                             std::size_t alignment = 0) {
  DeallocationEvent gone;
  gone.kind = kind;
  gone.stated_size = size;
  gone.stated_alignment = alignment;
  return gone;
}

constexpr auto kReleases = std::to_array<DeallocationKind>(
    {DeallocationKind::kFree, DeallocationKind::kRealloc, DeallocationKind::kDelete,
     DeallocationKind::kDeleteArray, DeallocationKind::kAlignedDelete,
     DeallocationKind::kAlignedDeleteArray, DeallocationKind::kAlignedFree,
     DeallocationKind::kCustom});

constexpr auto kFitting = std::to_array<std::pair<AllocationKind, DeallocationKind>>(
    {{AllocationKind::kMalloc, DeallocationKind::kFree},
     {AllocationKind::kMalloc, DeallocationKind::kRealloc},
     {AllocationKind::kAlignedAlloc, DeallocationKind::kFree},
     {AllocationKind::kAlignedAlloc, DeallocationKind::kRealloc},
     {AllocationKind::kNew, DeallocationKind::kDelete},
     {AllocationKind::kNewArray, DeallocationKind::kDeleteArray},
     {AllocationKind::kAlignedNew, DeallocationKind::kAlignedDelete},
     {AllocationKind::kAlignedNewArray, DeallocationKind::kAlignedDeleteArray},
     {AllocationKind::kAlignedMalloc, DeallocationKind::kAlignedFree},
     {AllocationKind::kCustom, DeallocationKind::kCustom}});

bool is_fitting(AllocationKind kind, DeallocationKind release) {
  for (const auto& pair : kFitting) {
    if (pair == std::pair(kind, release)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("each kind of block has its own kinds of release, and no others") {
  for (int kind = 0; kind <= static_cast<int>(AllocationKind::kCustom); ++kind) {
    for (const DeallocationKind release : kReleases) {
      CAPTURE(kind);
      CAPTURE(static_cast<int>(release));
      const auto allocation = static_cast<AllocationKind>(kind);
      const ReleaseFault fault = find_release_fault(release_by(release), allocation, 8, 0);
      CHECK((fault == ReleaseFault::kNone) == is_fitting(allocation, release));
      if (fault == ReleaseFault::kNone) continue;
      const bool by_alignment = alloctap::differ_in_alignment(allocation, release);
      CHECK(fault == (by_alignment ? ReleaseFault::kAlignment : ReleaseFault::kKind));
    }
  }
}

TEST_CASE("a stated size must be that of the block, and one that is not stated may be any") {
  const auto fault = [](std::size_t stated) {
    return find_release_fault(release_by(DeallocationKind::kDelete, stated), AllocationKind::kNew,
                              24, 0);
  };
  CHECK(fault(24) == ReleaseFault::kNone);
  CHECK(fault(0) == ReleaseFault::kNone);
  CHECK(fault(23) == ReleaseFault::kSize);
  CHECK(fault(25) == ReleaseFault::kSize);
}

TEST_CASE("delete with an alignment and new without, or the reverse, differ in alignment alone") {
  using alloctap::differ_in_alignment;
  CHECK(differ_in_alignment(AllocationKind::kNew, DeallocationKind::kAlignedDelete));
  CHECK(differ_in_alignment(AllocationKind::kAlignedNewArray, DeallocationKind::kDeleteArray));
  CHECK_FALSE(differ_in_alignment(AllocationKind::kNew, DeallocationKind::kAlignedDeleteArray));
  CHECK_FALSE(differ_in_alignment(AllocationKind::kAlignedAlloc, DeallocationKind::kFree));
  CHECK_FALSE(differ_in_alignment(AllocationKind::kNew, DeallocationKind::kDelete));
}

TEST_CASE("a stated alignment must be that of the block") {
  const auto fault = [](std::size_t stated) {
    return find_release_fault(release_by(DeallocationKind::kAlignedDelete, 0, stated),
                              AllocationKind::kAlignedNew, 24, 64);
  };
  CHECK(fault(64) == ReleaseFault::kNone);
  CHECK(fault(32) == ReleaseFault::kAlignment);
}
