/// Finds out-of-bounds accesses and use after free with guard pages.
#pragma once

#include <cstdint>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Electric Fence, or GWP-ASan if `kOneIn` is large. One in `kOneIn` blocks ends at a page
/// boundary, as near as its alignment permits, next to an inaccessible page. `kEdge` can place the
/// begin there instead. After the free, its pages stay inaccessible for a while. An invalid access
/// faults at once and is reported with the stacks of the access, the allocation and the free. Then
/// the previous fault handler runs, or the process ends as it would have.
///
/// Each block costs at least one page and two system calls: use 1 for tests, 1000 in production. A
/// sample skips blocks when the program allocates too fast (`GuardBudget`). The pool has room for
/// 131,072 blocks at a time, or for 1024 of a sample. Linux before 6.13 lacks guard markers of
/// pages; there, the pool takes half of vm.max_map_count at most. Further blocks go to the
/// allocator and are counted in reports.
///
/// An access beyond the guard pages may hit another block. If the kernel accesses the block, as in
/// a read(2) that overruns it, the call fails with EFAULT instead of a fault. On Linux, a fault
/// handler that the program installs later replaces alloctap's (`os/memory_faults.hpp`).
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
