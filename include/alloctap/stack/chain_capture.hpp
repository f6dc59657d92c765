/// The stack capture shared by all policies that cache frames, and its per-thread state.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/arch/frame_record.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"
#include "alloctap/stack/chain_walk.hpp"
#include "alloctap/stack/stack_cache.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/thread_stacks.hpp"
#include "alloctap/stack/unwind_rules.hpp"
#include "alloctap/stack/unwind_step.hpp"

namespace alloctap {

/// A thread's caches and buffers for `ChainCapture<Rules>`. Belongs to one thread; runs inside
/// malloc.
template <class Rules>
struct ChainMemory {
  /// Which buffer has the frames of the last capture.
  enum class Found : std::uint8_t {
    kInThreadState,
    kInChain,
    /// No buffer, because the stack cache recognized the stack without a walk.
    kByMemo,
  };

  struct Capture {
    StackChain* stack = nullptr;
    UnwindFrame leaf;
    std::uint32_t max_frames = 0;
  };

  ThreadStacks stacks;
  StackCache memo;
  [[no_unique_address]] typename Rules::Cache rules;
  UnwindBuffer walked;
  Found found = Found::kInThreadState;
  /// The last capture, unless `found` is `kInThreadState`.
  Capture current;
  CopiedStack copy;

  /// Sets `current`. Keeps GCC from merging two stores into a vector store, because a scalar load
  /// of one field would then stall.
  ALLOCTAP_ALWAYS_INLINE void begin(StackChain& stack, const UnwindFrame& leaf,
                                    std::uint32_t max_frames) noexcept {
    current.leaf.pc = leaf.pc;
    std::atomic_signal_fence(std::memory_order_release);
    current.leaf.sp = leaf.sp;
    std::atomic_signal_fence(std::memory_order_release);
    current.leaf.fp = leaf.fp;
    current.stack = &stack;
    current.max_frames = max_frames;
  }

  /// Allocates buffers for a walk of the current capture. Returns false if out of memory.
  [[nodiscard]] bool make_room() noexcept {
    const std::size_t frames = ChainWalk<Rules>::walked_frames_for(current.max_frames);
    return walked.capacity() >= frames || walked.reserve(frames);
  }
};

/// Returns the caller's stack pointer on architectures whose frame record may lie anywhere in the
/// frame. `origin.frame` is the address of the saved frame pointer. The function's unwind rule
/// states the distance from that address to the CFA. Returns 0 if the rule does not state the
/// distance. A template, so that it is compiled only if used.
template <class Origin>
std::uintptr_t caller_stack_pointer(const Origin& origin) noexcept {
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  const UnwindRule rule = UnwindRules::find(origin.place.address, UnwindRules::epoch());
  if (!rule.is_plain() || rule.fp_slot == UnwindRule::kUnchanged) return 0;
  return reinterpret_cast<std::uintptr_t>(origin.frame) -
         static_cast<std::uintptr_t>(rule.fp_slot * kWord);
}

/// Returns the calling frame, computed from the registers in `origin.place` by the unwind rule at
/// `origin.place.address`. The result's `sp` is 0 if the rule needs registers other than sp and fp.
template <class Origin>
UnwindFrame caller_by_registers(const Origin& origin) noexcept {
  const auto& place = origin.place;
  const UnwindRule rule = UnwindRules::find(place.address, UnwindRules::epoch());
  if (!rule.is_plain()) return {};
  const bool from_fp = rule.kind == UnwindRule::Kind::kFromFramePointer;
  const std::uintptr_t base = from_fp ? place.frame_pointer : place.stack_pointer;
  const auto above = [&](std::int64_t bytes) { return base + static_cast<std::uintptr_t>(bytes); };
  const bool fp_saved = rule.fp_slot != UnwindRule::kUnchanged;
  constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  return {.pc = load_word(above(rule.cfa_offset + rule.return_offset())),
          .sp = above(rule.cfa_offset),
          .fp = fp_saved ? load_word(above(rule.cfa_offset + rule.fp_slot * kWord))
                         : place.frame_pointer};
}

/// Returns the calling frame, read from the frame record at `origin.frame`.
template <bool kByRecords, class Origin>
ALLOCTAP_ALWAYS_INLINE UnwindFrame caller_by_record(const Origin& origin) noexcept {
  const auto* record = static_cast<const arch::FrameRecord*>(origin.frame);
  const auto load = [](const std::uintptr_t& word) {
    return load_word(reinterpret_cast<std::uintptr_t>(&word));
  };
  if constexpr (kByRecords || arch::kRecordEndsFrame) {
    return {.pc = load(record->return_address),
            .sp = arch::stack_pointer_of_caller(record),
            .fp = load(record->caller_frame)};
  } else {
    return {.pc = arch::DwarfRegisters::strip_signature(load(record->return_address)),
            .sp = caller_stack_pointer(origin),
            .fp = load(record->caller_frame)};
  }
}

/// Whether `calling_frame` always succeeds.
inline constexpr bool kCallerIsSure = arch::kHasFrameRecords && arch::kRecordEndsFrame;

/// Returns the frame that the hooked function of `origin` returns to. The result's `sp` is 0 if the
/// frame is not found. Precondition: `origin.frame` is not null. If `kByRecords`, `sp` is the end
/// of the frame record, which suffices for walks by frame records. Runs inside malloc.
template <bool kByRecords, class Origin>
ALLOCTAP_ALWAYS_INLINE UnwindFrame calling_frame(const Origin& origin) noexcept {
  if constexpr (!arch::kHasFrameRecords) {
    return caller_by_registers(origin);
  } else {
    return caller_by_record<kByRecords>(origin);
  }
}

/// A stack capture that reuses the frames of the thread's last capture. Runs inside malloc. `Rules`
/// supplies the unwind rules. Each walk constructs a `Rules` from the thread's `Rules::Cache` and
/// an epoch, so a `Rules` must be cheap to copy. The epoch is a counter that changes when rules may
/// have changed. `Rules` has:
/// - `find(frame)`: returns the unwind rule of an `UnwindFrame` in the epoch of this `Rules`;
/// - `current_epoch()`: returns the epoch that is current now;
/// - `Fallback`: the capture policy for rules that need all registers;
/// - `kPointerDecides`: whether a walk ends, as failed, at a frame pointer that leads to no outer
///   frame. If false, the slow path walks such a stack again, because the stack may continue in
///   other memory;
/// - `is_code(address)`: returns whether `address` is in code. Called for addresses that have no
///   rule.
template <class Rules>
class ChainCapture {
 public:
  /// See `RecallingStackCapture`. Calls no out-of-line function and takes no address of a local, so
  /// all values stay in registers.
  ALLOCTAP_ALWAYS_INLINE static RememberedStack* recall(ThreadState& thread,
                                                        const CallOrigin& origin,
                                                        std::uint32_t max_frames) noexcept {
    Memory* const memory = PerThread<Memory>::get_if_exists(thread);
    if (memory == nullptr || origin.frame == nullptr || origin.allocator != nullptr) [[unlikely]] {
      return nullptr;
    }
    const UnwindFrame leaf = calling_frame<Rules::kPointerDecides>(origin);
    // `leaf` needs no bounds check: all stacks cached with this serial number passed the check.
    const StackChain* const stack = memory->stacks.find_latest(thread);
    if (stack == nullptr || stack->epoch != Rules::current_epoch()) [[unlikely]] {
      return nullptr;
    }
    return within(max_frames, memory->memo.find_expected(leaf, stack->serial));
  }

  static IdentifiedStack identify_uncached(ThreadState& thread, const CallOrigin& origin,
                                           std::uint32_t max_frames,
                                           RememberedStack* recalled) noexcept {
    Memory* const memory = PerThread<Memory>::get_if_exists(thread);
    if (memory == nullptr || origin.frame == nullptr || origin.allocator != nullptr) [[unlikely]] {
      return identify_cold(thread, origin, max_frames);
    }
    const UnwindFrame leaf = calling_frame<Rules::kPointerDecides>(origin);
    StackChain* const stack = memory->stacks.find_again(thread, leaf.sp);
    if (stack == nullptr || !is_prepared(*stack, max_frames)) [[unlikely]] {
      return identify_cold(thread, origin, max_frames);
    }
    memory->begin(*stack, leaf, max_frames);
    if (recalled == nullptr) {
      recalled = within(max_frames, memory->memo.find_other(leaf, stack->serial));
    }
    if (recalled == nullptr) return walk_and_learn(thread, origin, *memory);
    memory->found = Found::kByMemo;
    return {.hash = recalled->hash, .stack = recalled->stack, .place = &recalled->place};
  }

  static IdentifiedStack identify(ThreadState& thread, const CallOrigin& origin,
                                  std::uint32_t max_frames) noexcept {
    return identify_uncached(thread, origin, max_frames, recall(thread, origin, max_frames));
  }

  static std::span<const std::uintptr_t> identified_frames(
      ThreadState& thread, const IdentifiedStack& identified) noexcept {
    const std::span<std::uintptr_t> frames(thread.frames, identified.stack.depth);
    Memory* memory = PerThread<Memory>::of(thread);
    if (memory == nullptr || memory->found == Found::kInThreadState) return frames;
    // The stack is unchanged since the capture. But the rules that found its frames may be invalid,
    // because another thread may have unloaded a module.
    const CachedFrameChain& chain = memory->current.stack->chain;
    const bool there = memory->found == Found::kInChain ||
                       (walk_current(*memory, Rules(memory->rules, Rules::current_epoch())) &&
                        chain.size() >= frames.size());
    if (!there) [[unlikely]] {
      return {};
    }
    chain.copy_innermost(frames);
    return frames;
  }

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    IdentifiedStack identified =
        identify(thread, origin, static_cast<std::uint32_t>(frames.size()));
    const auto found = identified_frames(thread, identified);
    std::copy(found.begin(), found.end(), frames.begin());
    identified.stack.failed |= found.size() < identified.stack.depth;
    identified.stack.depth = static_cast<std::uint32_t>(found.size());
    return identified.stack;
  }

 private:
  using Memory = ChainMemory<Rules>;
  using Found = typename Memory::Found;

  /// Returns `known`, or nullptr if it is deeper than `max_frames`.
  ALLOCTAP_ALWAYS_INLINE static RememberedStack* within(std::uint32_t max_frames,
                                                        RememberedStack* known) noexcept {
    return known != nullptr && known->stack.depth <= max_frames ? known : nullptr;
  }

  ALLOCTAP_ALWAYS_INLINE static bool is_prepared(const StackChain& stack,
                                                 std::uint32_t max_frames) noexcept {
    return stack.is_prepared(ChainWalk<Rules>::chain_frames_for(max_frames), &kIdentity,
                             Rules::current_epoch());
  }

  /// Handles a thread's first capture, captures after the stack or the rules changed, and origins
  /// whose calling frame is not found.
  ALLOCTAP_NOINLINE static IdentifiedStack identify_cold(ThreadState& thread,
                                                         const CallOrigin& origin,
                                                         std::uint32_t max_frames) noexcept {
    Memory* const memory = PerThread<Memory>::of(thread);
    if (memory == nullptr) return fall_back(thread, origin, 1);
    if (origin.frame == nullptr) return fall_back(thread, origin, max_frames);
    const UnwindFrame leaf = origin.allocator != nullptr
                                 ? leave_allocator(thread, origin, *memory)
                                 : calling_frame<Rules::kPointerDecides>(origin);
    if (leaf.sp == 0) return fall_back(thread, origin, max_frames);
    StackChain* const stack = memory->stacks.find(thread, leaf.sp);
    const std::size_t frames = ChainWalk<Rules>::chain_frames_for(max_frames);
    memory->current = {.stack = stack, .leaf = leaf, .max_frames = max_frames};
    if (stack == nullptr || !stack->prepare(frames, &kIdentity, Rules::current_epoch())) {
      return walk_slow(thread, origin, *memory);
    }
    return walk_and_learn(thread, origin, *memory);
  }

  /// Returns the innermost frame outside the allocator. Returns all 0 if the walk fails.
  ALLOCTAP_NOINLINE static UnwindFrame leave_allocator(const ThreadState& thread,
                                                       const CallOrigin& origin,
                                                       Memory& memory) noexcept {
    NotedFrame at;
    at.frame = calling_frame<Rules::kPointerDecides>(origin);
    const Rules rules(memory.rules, Rules::current_epoch());
    const StackChain* stack = memory.stacks.find(thread, at.frame.sp);
    if (!LiveStack::is_aligned(at.frame.sp)) return {};
    while (stack != nullptr && origin.allocator->contains(at.frame.pc)) {
      const LiveStack live(at.frame.sp, stack->bounds.high);
      const UnwindFrame inner = at.frame;
      const UnwindOutcome outcome = step_outwards(inner, rules.find(inner), at, live);
      if (outcome != UnwindOutcome::kCaller) return {};
    }
    return at.frame;
  }

  static IdentifiedStack identity_of(const CachedFrameChain& chain,
                                     std::uint32_t max_frames) noexcept {
    if (chain.size() > max_frames) [[unlikely]] {
      return identity_of_inner(chain, max_frames);
    }
    return {.hash = chain.hash(chain.size() - 1),
            .stack = {.depth = static_cast<std::uint32_t>(chain.size()),
                      .failed = chain.end() == ChainEnd::kFailed,
                      .by_records = chain.is_by_records(chain.size() - 1)}};
  }

  /// Walks by the rules of the chain's epoch. Offers the stack to the stack cache.
  ALLOCTAP_NOINLINE static IdentifiedStack walk_and_learn(ThreadState& thread,
                                                          const CallOrigin& origin,
                                                          Memory& memory) noexcept {
    if (!walk_current(memory, Rules(memory.rules, memory.current.stack->epoch))) [[unlikely]] {
      return walk_slow(thread, origin, memory);
    }
    return learn_current(memory);
  }

  /// Updates the chain to the stack being captured. Returns false on failure.
  ALLOCTAP_ALWAYS_INLINE static bool walk_current(Memory& memory, const Rules& rules) noexcept {
    if (!memory.make_room()) [[unlikely]] {
      return false;
    }
    const typename Memory::Capture& capture = memory.current;
    StackChain& stack = *capture.stack;
    ChainWalk walk(stack.chain, memory.walked, stack.bounds, capture.max_frames, rules);
    if (walk.walk_from(capture.leaf) != UnwindOutcome::kCaller) return false;
    memory.found = Found::kInChain;
    return true;
  }

  static IdentifiedStack learn_current(Memory& memory) noexcept {
    const StackChain& stack = *memory.current.stack;
    const IdentifiedStack identified = identity_of(stack.chain, memory.current.max_frames);
    if (!identified.stack.truncated && stack.chain.end_is_sure()) {
      memory.memo.learn(memory.current.leaf, stack.serial, stack.chain);
    }
    return identified;
  }

  /// Hashes the `max_frames` innermost frames. The chain's hashes are useless here, because they
  /// begin at the outermost frame.
  ALLOCTAP_NOINLINE static IdentifiedStack identity_of_inner(const CachedFrameChain& chain,
                                                             std::uint32_t max_frames) noexcept {
    IdentifiedStack identified{.hash = {},
                               .stack = {.depth = max_frames,
                                         .truncated = true,
                                         .by_records = chain.is_by_records(chain.size() - 1)}};
    for (std::size_t i = chain.size() - max_frames; i < chain.size(); ++i) {
      identified.hash = identified.hash.with(chain.pc(i));
    }
    return identified;
  }

  /// Walks without the frame cache. Reads the stack only through system calls, which fail for
  /// unreadable addresses.
  ALLOCTAP_NOINLINE static IdentifiedStack walk_slow(ThreadState& thread, const CallOrigin& origin,
                                                     Memory& memory) noexcept {
    if (!memory.make_room()) return fall_back(thread, origin, 1);
    const std::uint32_t max_frames = memory.current.max_frames;
    UnwindBuffer& walked = memory.walked;
    memory.copy.forget();
    walked.restart(memory.current.leaf);
    const std::uintptr_t high = memory.current.stack != nullptr
                                    ? memory.current.stack->bounds.high
                                    : memory.stacks.foreign_bounds().high;
    const Rules rules(memory.rules, Rules::current_epoch());
    UnwindOutcome outcome = UnwindOutcome::kCaller;
    while (walked.size() <= max_frames) {
      const UnwindFrame& frame = walked.last().frame;
      const UnwindRule rule = rules.find(frame);
      outcome = rule.kind == UnwindRule::Kind::kNone
                    ? step_by_record(frame, walked.next(), high, rules, memory.copy)
                    : step_outwards(frame, rule, walked.next(), memory.copy);
      if (outcome != UnwindOutcome::kCaller) break;
      walked.add();
    }
    if (outcome == UnwindOutcome::kNeedsRegisters) return fall_back(thread, origin, max_frames);
    const bool whole =
        outcome == UnwindOutcome::kOutermost || os::is_initial_frame(walked.last().frame.sp);
    return take_over(thread, memory, max_frames, !whole);
  }

  /// Copies the walked frames to the thread's state.
  static IdentifiedStack take_over(ThreadState& thread, Memory& memory, std::uint32_t max_frames,
                                   bool failed) noexcept {
    memory.found = Found::kInThreadState;
    const std::size_t depth = std::min<std::size_t>(memory.walked.size(), max_frames);
    bool by_records = false;
    for (std::size_t i = 0; i < depth; ++i) {
      thread.frames[i] = memory.walked[i].frame.pc;
      by_records |= memory.walked[i].step.by_record;
    }
    const bool truncated = memory.walked.size() > max_frames;
    return {.hash = hash_frames({thread.frames, depth}),
            .stack = {.depth = static_cast<std::uint32_t>(depth),
                      .truncated = truncated,
                      .failed = failed && !truncated,
                      .by_records = by_records}};
  }

  ALLOCTAP_NOINLINE static IdentifiedStack fall_back(ThreadState& thread, const CallOrigin& origin,
                                                     std::uint32_t max_frames) noexcept {
    if (Memory* memory = PerThread<Memory>::of(thread); memory != nullptr) {
      memory->found = Found::kInThreadState;
    }
    return identify_stack<typename Rules::Fallback>(thread, origin, max_frames);
  }

  /// The address of this constant identifies the chains whose frames were found by `Rules`.
  static constexpr char kIdentity = 0;
};

}  // namespace alloctap
