/// Finds reads and writes beside a block, and of blocks that were freed, as they are made.
#pragma once

#include <cstdint>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// One in `kOneIn` blocks ends (or begins, by `kEdge`) at the edge of a page, as far as its
/// alignment lets it, beside pages that nobody can access; and when it is freed, nobody can access
/// it for a while. Whoever does stops at once, and is told of with the stacks of the access, the
/// allocation and the free; then the handler of faults that was there has its turn, or the process
/// ends as it would have.
///
/// Each block takes a page of memory or more and two system calls, so choose them all (1) for tests
/// and one in a thousand for what runs always: a sample is passed over in moments of so many
/// allocations that it would take more than its share of the time (`GuardBudget`). There is room
/// for 131,072 at a time, or, where the system has no markers of pages (before Linux 6.13), for so
/// many that they take half of the memory mappings that it gives a process (vm.max_map_count); of a
/// sample for 1024. Beyond that blocks are as they would be without the check, which reports count.
///
/// Of an access further away than a page may be that it meets another block. What the system
/// accesses for the program (read(2) into a block that is too small) is refused to the system,
/// which tells the program so. A handler of faults that the program installs later takes the place
/// of ours on Linux (`os/memory_faults.hpp`).
template <std::uint32_t kOneIn = 1, PageEdge kEdge = PageEdge::kRight>
struct GuardPages {
  static_assert(kOneIn > 0, "1 means each block; leave the check out for none");
  static constexpr CheckNeeds needs{.owns_every_free = true, .uses_guard_pages = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.guard_pages = kOneIn;
    settings.guard_edge = kEdge;
  }
};

static_assert(Check<GuardPages<>>);

}  // namespace alloctap
