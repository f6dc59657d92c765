/// The default stack capture policy: exact stacks from unwind tables, at about 1 ns per frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/chain_capture.hpp"
#include "alloctap/stack/full_unwind_stack.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// A cache of the process's memory map. It decides whether an address outside all modules is
/// executable (JIT-compiled code). Cached regions are valid for `kPeriodNs`. In each such period
/// the map is read at most `kMaxReads` times; afterwards addresses outside the cached regions count
/// as not executable. Belongs to one thread; runs inside malloc. May change errno.
class CodeRegions {
 public:
  static constexpr std::int64_t kPeriodNs = 100'000'000;
  static constexpr std::uint32_t kMaxReads = 16;

  [[nodiscard]] bool contains(std::uintptr_t address) noexcept;

 private:
  /// A mapping, executable or not, or a gap between mappings.
  struct Region {
    os::StackBounds bounds;
    bool executable;
  };

  static Region read(std::uintptr_t address) noexcept;

  std::array<Region, kMaxReads> regions_;
  std::uint32_t reads_ = 0;
  std::int64_t period_end_ = 0;
};

/// A small direct-mapped cache in front of `UnwindRules`, keyed by call address. It exists because
/// the shared table does not fit in a processor's inner caches, and every frame of a walk waits for
/// one look-up. Belongs to one thread; runs inside malloc.
class ThreadUnwindRuleCache {
  struct Entry {
    std::uintptr_t address;
    UnwindRule rule;
  };

 public:
  using Epoch = UnwindRules::Epoch;

  /// A view of one epoch's rules, used for one walk. Valid until `of` is called with another epoch.
  class OfEpoch {
   public:
    /// Returns the result of `UnwindRules::find` in the view's epoch.
    [[nodiscard]] ALLOCTAP_ALWAYS_INLINE UnwindRule find(std::uintptr_t address) const noexcept {
      if (entries_ == nullptr) [[unlikely]] {
        return UnwindRules::find(address, epoch_);
      }
      Entry& entry = entries_[place_of(address)];
      if (entry.address != address) [[unlikely]] {
        return find_uncached(address, epoch_, entry);
      }
      return entry.rule;
    }

   private:
    friend ThreadUnwindRuleCache;
    OfEpoch(Entry* entries, Epoch epoch) noexcept : entries_(entries), epoch_(epoch) {}

    /// nullptr if out of memory.
    Entry* entries_;
    Epoch epoch_;
  };

  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE OfEpoch of(Epoch epoch) noexcept {
    if (epoch != epoch_) [[unlikely]] {
      if (!begin(epoch)) return {nullptr, epoch};
    }
    return {entries_, epoch};
  }

 private:
  static constexpr std::size_t kBits = 12;
  static constexpr std::size_t kBytes = sizeof(Entry) << kBits;

  static std::size_t place_of(std::uintptr_t address) noexcept {
    return (address * 0x9E3779B97F4A7C15) >> (64 - kBits);
  }

  /// Does not cache `kNone`, because a table may be registered later.
  ALLOCTAP_NOINLINE static UnwindRule find_uncached(std::uintptr_t address, Epoch epoch,
                                                    Entry& entry) noexcept {
    const UnwindRule rule = UnwindRules::find(address, epoch);
    if (rule.kind != UnwindRule::Kind::kNone) entry = {address, rule};
    return rule;
  }

  /// Empties the cache and sets its epoch. Returns false if out of memory.
  ALLOCTAP_NOINLINE bool begin(Epoch epoch) noexcept {
    if (entries_ != nullptr) {
      std::memset(static_cast<void*>(entries_), 0, kBytes);
    } else {
      // Zeroed entries are empty, because no call has the address 0.
      entries_ = static_cast<Entry*>(Arena::allocate_pages(kBytes));
    }
    if (entries_ != nullptr) epoch_ = epoch;
    return entries_ != nullptr;
  }

  Entry* entries_ = nullptr;
  /// 0 before the first use, because epochs begin at 1.
  Epoch epoch_ = 0;
};

/// The `Rules` of a `ChainCapture` that uses unwind tables (.eh_frame), in one epoch.
class TableRules {
 public:
  using Fallback = FullUnwindStack;
  struct Cache {
    ThreadUnwindRuleCache rules;
    CodeRegions code;
  };
  static constexpr bool kPointerDecides = false;

  /// `cache` belongs to the calling thread.
  TableRules(Cache& cache, std::uint64_t epoch) noexcept
      : recent_(cache.rules.of(epoch)), code_(&cache.code) {}

  [[nodiscard]] static std::uint64_t current_epoch() noexcept { return UnwindRules::epoch(); }
  [[nodiscard]] UnwindRule find(const UnwindFrame& frame) const noexcept {
    return recent_.find(frame.call_address());
  }
  [[nodiscard]] bool is_code(std::uintptr_t address) const noexcept;

 private:
  ThreadUnwindRuleCache::OfEpoch recent_;
  CodeRegions* code_;
};

/// A cached unwinder that uses the unwind tables that modules have for exceptions (Linux Standard
/// Base, ".eh_frame sections"). Needs no frame pointers and finds the frames that `BacktraceStack`
/// finds, in about 1 % of the time. Caches unwind rules in 8 bytes each (`unwind_rules.hpp`).
/// Caches the frames of the last capture, because most of the frames recur in the next capture
/// (`cached_frame_chain.hpp`). Works on Windows too. Takes a lock only to allocate memory, or if
/// `ThreadStacks` has not cached the current stack. Unwinds code without unwind tables, such as
/// JIT-compiled code, by frame records (`unwind_step.hpp`). Runs inside malloc.
struct UnwindTableStack {
  static constexpr std::string_view name = "unwind-table";
  static constexpr StackFeatures features{.offer = true, .forget_unloaded_modules = true};

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept;
  static IdentifiedStack identify(ThreadState& thread, const CallOrigin& origin,
                                  std::uint32_t max_frames) noexcept;
  ALLOCTAP_ALWAYS_INLINE static RememberedStack* recall(ThreadState& thread,
                                                        const CallOrigin& origin,
                                                        std::uint32_t max_frames) noexcept {
    return Capture::recall(thread, origin, max_frames);
  }
  static IdentifiedStack identify_uncached(ThreadState& thread, const CallOrigin& origin,
                                           std::uint32_t max_frames,
                                           RememberedStack* recalled) noexcept;
  static std::span<const std::uintptr_t> identified_frames(
      ThreadState& thread, const IdentifiedStack& identified) noexcept;

  static void offer(alloctap_slots& slots) noexcept { slots.fibers = &alloctap_fibers; }

  /// Invalidates all cached rules. Call it after a module is unloaded.
  static void forget_unloaded_modules() noexcept { UnwindRules::forget_all(); }

 private:
  using Capture = ChainCapture<TableRules>;
};

static_assert(IdentifyingStackCapture<UnwindTableStack>);
static_assert(RecallingStackCapture<UnwindTableStack>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_table_stack.hpp"
#endif
