/// An observer that finds buffers that grow by repeated reallocation, and its per-thread tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/join_equal.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// The cost of step-by-step growth of blocks allocated at one stack.
struct GrowthSums {
  /// Number of blocks that grew at least twice.
  std::uint64_t chains = 0;
  std::uint64_t steps = 0;
  /// Sum of the sizes of all replaced blocks, except those extended in place. This is an upper
  /// bound of the bytes copied.
  std::uint64_t bytes_copied = 0;
  std::uint64_t largest_bytes = 0;

  constexpr GrowthSums& operator+=(const GrowthSums& other) noexcept {
    chains += other.chains;
    steps += other.steps;
    bytes_copied += other.bytes_copied;
    largest_bytes = largest_bytes < other.largest_bytes ? other.largest_bytes : largest_bytes;
    return *this;
  }
};

/// A growing block: its current address and size, and its growth so far.
struct GrowthChain {
  const void* block = nullptr;
  StackId stack = kNoStackId;
  std::uint32_t steps = 0;
  std::uint64_t bytes_copied = 0;
  std::uint64_t bytes = 0;

  /// Returns true if the block has grown at least twice; a single reallocation is no pattern.
  [[nodiscard]] constexpr bool counts() const noexcept { return steps >= 2; }
  [[nodiscard]] constexpr GrowthSums sums() const noexcept {
    return {.chains = 1, .steps = steps, .bytes_copied = bytes_copied, .largest_bytes = bytes};
  }
};

/// Detects blocks of one thread that grow repeatedly, in 60 KiB of tables. The steps of a block's
/// growth are its chain. A realloc to a larger size is a step. The pattern of std::vector is a
/// step, too: a stack allocates a block, then the thread frees the smaller block that the same
/// stack had allocated before. The free must precede the stack's next allocation, and must be among
/// the thread's next `kSoonCalls` calls. This limit grows by one call per `kBytesOfElement` of the
/// smaller block, because moving an element may allocate. Freeing the smaller block before the
/// allocation is not growth. A queue does not match the pattern: it frees its oldest block.
///
/// Misses vectors that grow alternately at one stack, or on several threads. Falsely counts blocks
/// replaced by larger ones without copying, because allocator calls do not show copies. A hash
/// collision of two blocks ends the older chain; further growth of its block begins a new chain.
/// `lost` counts dropped chains.
///
/// Accessed only by its thread, inside malloc. An event costs one or two accesses to a table.
class GrowthChains {
 public:
  static constexpr std::uint64_t kSoonCalls = 64;
  static constexpr std::uint64_t kBytesOfElement = 8;

  /// Ends all chains and forgets recent blocks, so that a new thread can reuse the object.
  void begin_thread() noexcept {
    finish_all();
    recent_.fill({});
  }

  void come(const ObservedBlock& block) noexcept {
    ++calls_;
    Recent& recent = recent_[place_of(block.stack)];
    const bool is_known = recent.stack == block.stack;
    recent = {.stack = block.stack,
              .call = calls_,
              .before = is_known ? recent.last : Block{},
              .last = {block.pointer, block.size}};
  }

  void go(const ObservedBlock& block) noexcept {
    ++calls_;
    Recent& recent = recent_[place_of(block.stack)];
    const bool is_stacks = recent.stack == block.stack;
    if (is_stacks && recent.before.pointer == block.pointer) {
      const bool has_grown = block.size < recent.last.size && is_soon(recent, block);
      recent.before = {};
      if (has_grown) return grow_by_copy(block, recent.last);
    }
    if (is_stacks && recent.last.pointer == block.pointer) recent.last = {};
    finish(moving_);
    moving_ = take(block.pointer);
  }

  /// Handles a realloc, after `go(before)` and `come(after)` were called for the same realloc.
  void move(const ObservedBlock& before, const ObservedBlock& after) noexcept {
    take_back_copy(before);
    GrowthChain chain;
    if (moving_.block == before.pointer) std::swap(chain, moving_);
    Recent& recent = recent_[place_of(after.stack)];
    if (recent.last.pointer == after.pointer) recent.before = {};
    if (after.size <= before.size) return finish(chain);
    step(chain, after, after.pointer == before.pointer ? 0 : before.size);
  }

  /// Calls `visit(StackId, const GrowthSums&)` for each chain, ended or not. A stack with several
  /// chains is visited several times.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Ended& ended : ended_) {
      if (ended.stack != kNoStackId) visit(ended.stack, ended.sums);
    }
    for (const GrowthChain& chain : chains_) {
      if (chain.counts()) visit(chain.stack, chain.sums());
    }
    if (moving_.counts()) visit(moving_.stack, moving_.sums());
  }

  /// Returns the number of chains dropped because the table of ended chains was full.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

 private:
  static constexpr std::size_t kPlaces = 512;
  static constexpr std::size_t kNeighbours = 8;

  struct Block {
    const void* pointer = nullptr;
    std::size_t size = 0;
  };

  /// The last two blocks that a stack allocated. A block is removed when it is freed or
  /// reallocated.
  struct Recent {
    StackId stack = kNoStackId;
    /// Value of `calls_` at the allocation of `last`.
    std::uint64_t call = 0;
    Block before = {};
    Block last = {};
  };

  /// The last step that was classified as growth by copying.
  struct Copy {
    const void* from = nullptr;
    const void* to = nullptr;
    std::uint64_t call = 0;
  };

  struct Ended {
    StackId stack = kNoStackId;
    GrowthSums sums = {};
  };

  static std::size_t place_of(std::uint64_t number) noexcept {
    return static_cast<std::size_t>(number * 0x9E3779B97F4A7C15 >> 55);
  }
  static_assert(kPlaces == std::size_t{1} << (64 - 55));

  void grow_by_copy(const ObservedBlock& gone, const Block& larger) noexcept {
    copy_ = {.from = gone.pointer, .to = larger.pointer, .call = calls_};
    step(take(gone.pointer),
         {.pointer = const_cast<void*>(larger.pointer), .size = larger.size, .stack = gone.stack},
         gone.size);
  }

  /// Undoes `grow_by_copy` if the free of `before` was part of a realloc.
  void take_back_copy(const ObservedBlock& before) noexcept {
    if (copy_.from != before.pointer || copy_.call + 1 != calls_) return;
    moving_ = take(copy_.to);
    if (moving_.block == nullptr) return;
    moving_.block = before.pointer;
    moving_.bytes = before.size;
    moving_.bytes_copied -= before.size;
    --moving_.steps;
  }

  GrowthChain& place_of_chain(const void* block) noexcept {
    return chains_[place_of(reinterpret_cast<std::uintptr_t>(block))];
  }

  [[nodiscard]] bool is_soon(const Recent& recent, const ObservedBlock& gone) const noexcept {
    return calls_ - recent.call <= kSoonCalls + gone.size / kBytesOfElement;
  }

  /// Removes and returns the chain whose current block is `block`; an empty chain if not found.
  GrowthChain take(const void* block) noexcept {
    GrowthChain& place = place_of_chain(block);
    if (block == nullptr || place.block != block) return {};
    const GrowthChain chain = place;
    place = {};
    return chain;
  }

  void step(GrowthChain chain, const ObservedBlock& after, std::uint64_t copied) noexcept {
    chain.block = after.pointer;
    chain.stack = after.stack;
    chain.bytes = after.size;
    chain.bytes_copied += copied;
    ++chain.steps;
    GrowthChain& place = place_of_chain(after.pointer);
    finish(place);
    place = chain;
  }

  void finish(const GrowthChain& chain) noexcept {
    if (!chain.counts()) return;
    const std::size_t home = place_of(chain.stack);
    for (std::size_t i = 0; i < kNeighbours; ++i) {
      Ended& ended = ended_[(home + i) % kPlaces];
      if (ended.stack != kNoStackId && ended.stack != chain.stack) continue;
      ended.stack = chain.stack;
      ended.sums += chain.sums();
      return;
    }
    ++lost_;
  }

  void finish_all() noexcept {
    for (GrowthChain& chain : chains_) {
      finish(chain);
      chain = {};
    }
    finish(moving_);
    moving_ = {};
  }

  std::uint64_t calls_ = 0;
  std::uint64_t lost_ = 0;
  /// The chain of the block freed last, which a realloc may continue.
  GrowthChain moving_;
  Copy copy_;
  std::array<Recent, kPlaces> recent_{};
  std::array<GrowthChain, kPlaces> chains_{};
  std::array<Ended, kPlaces> ended_{};
};

/// A suggestion to reserve memory: at `stack`, `reserve(sums.largest_bytes)` would have saved
/// `sums.steps` reallocations, which copied up to `sums.bytes_copied` bytes.
struct GrowthAdvice {
  StackId stack = kNoStackId;
  GrowthSums sums = {};
};

/// An observer that finds buffers that grow step by step, by `realloc` or as std::vector does:
///
///     using Observers = alloctap::GrowthAdvisor<>;
///     ...
///     const auto advice = alloctap::GrowthAdvisor<>::advice();
///
/// `GrowthChains` documents what is detected and what is missed. If several trackers use this
/// observer, each needs a `Name` of its own; any type will do. Costs about ten nanoseconds per
/// event and 60 KiB per thread. Takes no lock inside malloc.
template <class Name = void>
class GrowthAdvisor {
 public:
  static constexpr ObserverFeatures features{.on_reallocate = true};

  static void on_track(const ObservedBlock& block) noexcept {
    if (GrowthChains* chains = mine()) chains->come(block);
  }
  static void on_untrack(const ObservedBlock& block) noexcept {
    if (GrowthChains* chains = mine()) chains->go(block);
  }
  static void on_reallocate(const ObservedBlock& before, const ObservedBlock& after) noexcept {
    if (GrowthChains* chains = mine()) chains->move(before, after);
  }

  /// Returns the suggestions of all threads, sorted by bytes copied, highest first. Stops the other
  /// threads meanwhile. Control plane, not for observers; fails inside a dump.
  [[nodiscard]] static Result<ArenaArray<GrowthAdvice>> advice() {
    if (holds_tracker_lock()) {
      return Status::failed_precondition(
          "GrowthAdvisor: this thread is inside a dump: what an output calls may not ask for "
          "advice");
    }
    const ReentrancyGuard guard;
    ArenaArray<GrowthAdvice> list;
    if (!collect(list)) {
      return Status::resource_exhausted("GrowthAdvisor: the system has no memory for advice");
    }
    join_equal(list, &GrowthAdvice::stack,
               [](GrowthAdvice& sum, const GrowthAdvice& next) { sum.sums += next.sums; });
    std::sort(list.begin(), list.end(), [](const GrowthAdvice& a, const GrowthAdvice& b) {
      if (a.sums.bytes_copied != b.sums.bytes_copied) {
        return a.sums.bytes_copied > b.sums.bytes_copied;
      }
      return a.sums.steps != b.sums.steps ? a.sums.steps > b.sums.steps : a.stack < b.stack;
    });
    return list;
  }

  /// Returns the number of chains that `advice` omits because tables were full. Stops the other
  /// threads meanwhile. Control plane.
  [[nodiscard]] static std::uint64_t lost() noexcept {
    std::uint64_t lost = 0;
    const ControlScope hold;
    static_cast<void>(ThreadStates::stop_world());
    PerThread<Mine>::for_each([&](const Mine& thread) { lost += thread.chains.lost(); });
    ThreadStates::resume_world();
    return lost;
  }

 private:
  struct Mine {
    std::uint32_t generation = 0;
    GrowthChains chains;
  };

  static GrowthChains* mine() noexcept {
    ThreadState* const thread = ThreadStates::mine();
    Mine* const mine = thread == nullptr ? nullptr : PerThread<Mine>::of(*thread);
    if (mine == nullptr) return nullptr;
    if (mine->generation != thread->generation) {
      mine->chains.begin_thread();
      mine->generation = thread->generation;
    }
    return &mine->chains;
  }

  static bool collect(ArenaArray<GrowthAdvice>& list) noexcept {
    bool complete = true;
    const ControlScope hold;
    static_cast<void>(ThreadStates::stop_world());
    PerThread<Mine>::for_each([&](const Mine& thread) {
      thread.chains.for_each([&](StackId stack, const GrowthSums& sums) {
        complete = list.push_back({stack, sums}) && complete;
      });
    });
    ThreadStates::resume_world();
    return complete;
  }
};

static_assert(Observer<GrowthAdvisor<>>);
static_assert(CheckedObserver<GrowthAdvisor<>>::ok);

/// Returns a one-line description without the stack, which `Tracker::name_stacks` can symbolize.
[[nodiscard]] std::string describe(const GrowthAdvice& advice);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/growth_advisor.hpp"
#endif
