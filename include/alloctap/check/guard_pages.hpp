/// Finds out-of-bounds accesses and use after free with guard pages.
#pragma once

#include <cstdint>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Guard pages as in Electric Fence, or as in GWP-ASan if `kOneIn` is large. One in `kOneIn` blocks
/// ends at an inaccessible page, or as near as the block's alignment permits. `kEdge` can make the
/// block begin behind an inaccessible page instead. After the free, the block's pages stay
/// inaccessible for some time. An invalid access faults at once and is reported with the stacks of
/// access, allocation and free. Then the previous fault handler runs, or the fault ends the
/// process.
///
/// Each block beside a guard page costs at least one page and two system calls. Use a `kOneIn` of 1
/// for tests, 1000 in production. If `kOneIn` is above 1, `GuardBudget` skips blocks while the
/// program allocates too fast. The pool has room for 131,072 live blocks if `kOneIn` is 1,
/// otherwise for 1024. Linux before 6.13 has no lightweight guard pages (MADV_GUARD_INSTALL); with
/// such a kernel, the pool uses at most half of vm.max_map_count mappings. Blocks for which the
/// pool has no room go to the allocator and are counted in reports.
///
/// An access that skips the guard pages may hit another block undetected. If the kernel makes the
/// invalid access, as in read(2), the system call fails with EFAULT and no fault is reported. On
/// Linux, a fault handler installed later replaces alloctap's (`os/memory_faults.hpp`).
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
