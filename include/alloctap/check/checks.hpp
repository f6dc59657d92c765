/// The checks of blocks and of string functions, and their presets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Enables all of `Choices`. Every choice except `Expand` and `FillOnAllocate` also finds double
/// frees and frees of addresses inside blocks; `GuardPages` only for blocks beside guard pages.
///
///     using Checks = alloctap::Checks<alloctap::KindMismatch, alloctap::RearGuard<>>;
template <Check... Choices>
struct Checks {
  static constexpr bool kChecks = true;
  static constexpr CheckNeeds needs{.owns_every_free = (Choices::needs.owns_every_free || ...),
                                    .uses_guard_pages = (Choices::needs.uses_guard_pages || ...)};

  static constexpr CheckSettings settings() noexcept {
    CheckSettings settings;
    (Choices::apply(settings), ...);
    return settings;
  }
};

static_assert(CheckPolicy<Checks<>>);

/// Verifies that the deallocation call matches the allocation call: malloc's family with free and
/// realloc, new with delete, new[] with delete[], aligned forms with aligned forms. Compares size
/// and alignment of a sized delete with the request. A mismatched block is still freed correctly.
/// On Windows, only _aligned_malloc is distinguished from other forms, and the heap must match.
struct KindMismatch {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.kinds = true;
  }
};

static_assert(Check<KindMismatch>);

/// Reports frees of addresses that no allocation returned. Requires a hook that sees every block,
/// or a hook that asks the allocator whether an unknown address is an older block. Double frees and
/// frees of addresses inside blocks are found without this check.
struct PointerVerification {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.unknown_pointers = true;
  }
};

static_assert(Check<PointerVerification>);

/// Puts a red zone before each block: `kBytes` bytes, rounded up to the block's alignment and
/// filled with `kFrontGuardByte`. Verifies the red zone when the block is freed.
template <std::size_t kBytes = 32>
struct FrontGuard {
  static_assert(kBytes > 0 && kBytes <= 16384, "a guard has from 1 to 16384 bytes");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.front_guard = kBytes;
  }
};

static_assert(Check<FrontGuard<>>);

/// Puts a red zone of `kBytes` behind each block, filled with `kRearGuardByte`. Verifies the red
/// zone when the block is freed.
template <std::size_t kBytes = 32>
struct RearGuard {
  static_assert(kBytes > 0 && kBytes <= 16384, "a guard has from 1 to 16384 bytes");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.rear_guard = kBytes;
  }
};

static_assert(Check<RearGuard<>>);

/// Extends each block by `kBytes`. A program that fails only without `Expand` overruns its blocks.
template <std::size_t kBytes = 16>
struct Expand {
  static_assert(kBytes > 0 && kBytes <= 16384, "a block is expanded by 1 to 16384 bytes");
  static constexpr CheckNeeds needs{};
  static constexpr void apply(CheckSettings& settings) noexcept { settings.expand = kBytes; }
};

static_assert(Check<Expand<>>);

/// Fills the first `kBytes` of each new block with `kAllocatedByte`, so that reads of uninitialized
/// memory do not find zeros. Does not fill blocks of calloc and strdup, whose content is defined.
template <std::size_t kBytes = CheckSettings::kAllBytes>
struct FillOnAllocate {
  static_assert(kBytes > 0, "filling no bytes is leaving FillOnAllocate out");
  static constexpr CheckNeeds needs{};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.fill_on_allocate = kBytes;
  }
};

static_assert(Check<FillOnAllocate<>>);

/// Fills the first `kBytes` of each freed block with `kFreedByte`, so that use after free does not
/// find the old content.
template <std::size_t kBytes = CheckSettings::kAllBytes>
struct FillOnFree {
  static_assert(kBytes > 0, "filling no bytes is leaving FillOnFree out");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.fill_on_free = kBytes;
  }
};

static_assert(Check<FillOnFree<>>);

/// Delays the reuse of the last `kBlocks` freed blocks, up to 256 MiB. Fills freed blocks with
/// `kFreedByte`. Verifies the fill when a block leaves the quarantine.
template <std::uint32_t kBlocks = 100>
struct Quarantine {
  static_assert(kBlocks > 0 && kBlocks <= 16384, "a quarantine has from 1 to 16384 blocks");
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.quarantine_blocks = kBlocks;
    if (settings.fill_on_free == 0) settings.fill_on_free = CheckSettings::kAllBytes;
  }
};

static_assert(Check<Quarantine<>>);

/// Enables no checks. Every tracker finds leaks without them.
using Level1 = NoChecks;

/// Fills each block when it is allocated and when it is freed.
using Level5 = Checks<FillOnAllocate<>, FillOnFree<>>;

/// All checks: red zones of 32 bytes on both sides, a quarantine of 100 blocks, and a check of each
/// free. Unlike malloc_debug, also checks that allocation and deallocation calls match.
using Level10 = Checks<KindMismatch, PointerVerification, FrontGuard<32>, RearGuard<32>,
                       FillOnFree<>, Quarantine<100>>;

/// Finds out-of-bounds accesses and use after free by guard pages, as in Electric Fence, or as in
/// GWP-ASan if `kOneIn` is large. One in `kOneIn` blocks ends at an inaccessible page, or as near
/// as the block's alignment permits. `kEdge` can make the block begin behind an inaccessible page
/// instead. After the free, the block's pages stay inaccessible for some time. An invalid access
/// faults at once and is reported with the stacks of access, allocation and free. After the report,
/// the previous fault handler runs, or the fault ends the process.
///
/// Each block beside a guard page costs at least one page and two system calls. Use a `kOneIn` of 1
/// for tests, 1000 in production. If `kOneIn` is above 1, `GuardBudget` skips blocks while the
/// program allocates too fast. The pool has room for 131,072 live blocks if `kOneIn` is 1,
/// otherwise for 1024. Linux before 6.13 has no lightweight guard pages (MADV_GUARD_INSTALL); with
/// such a kernel, the pool uses at most half of vm.max_map_count mappings. Blocks for which the
/// pool has no room go to the allocator and are counted in reports.
///
/// An access far beyond the guard pages may hit another block undetected. If the kernel makes the
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

/// Checks calls of memcpy, strlen, printf and related functions, including wide and fortified
/// forms. A range that touches a block must lie within that block, which must be live. Source and
/// destination must not overlap if the C standard forbids overlap. A fault is reported before the
/// call, which then runs unchanged. Memory outside blocks and inlined calls are not checked.
///
/// If the program interposes malloc, the source file with the interposition needs
/// `ALLOCTAP_DEFINE_INTERPOSED_STRINGS(Tracker)` (hook/interposed_strings.hpp). On Windows, calls
/// through the modules' import tables are checked until the tracker stops
/// (hook/windows/string_slots.hpp). Not checked: calls into a statically linked C library, such as
/// GCC's printf in C++, and the arguments of a wchar_t format.
struct StringChecks {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.strings = true;
  }
};

static_assert(Check<StringChecks>);

}  // namespace alloctap
