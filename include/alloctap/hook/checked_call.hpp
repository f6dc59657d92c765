/// Handlers for heap functions if blocks have red zones, guard pages or a quarantine.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/strings/string_access_checker.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

/// Handlers of `CallWrapper` for a `CheckingSink`. The sink chooses the size of each block, the
/// offset of the program's bytes in the block, and which frees reach the allocator. Blocks are
/// checked from the first call of the process, even while no tracker records. `wanted` is true
/// while a tracker records.
///
/// A reallocation is an allocation, a copy and a free. Size 0 frees the block and returns null, as
/// in glibc, whatever the host's allocator does.
///
/// The caller holds a `ReentrancyGuard`. Calls that the allocator or the tracker makes inside a
/// hooked call use `Unchecked`.
template <class Originals, class Sink>
struct CheckedCall {
  template <class Function, class... Arguments>
  ALLOCTAP_NOINLINE static auto allocate(bool wanted, CallOrigin origin, Arguments... arguments) {
    using Result = decltype(Originals::template get<Function>()(arguments...));
    if constexpr (is_copy<Function>() && AccessSink<Sink>)
      check_text<Function>(origin, arguments...);
    const BlockRequest request = Function::request(arguments...);
    const AllocationRequest asked = wanted_block<Function>(request);
    const BlockPlan plan = Sink::plan_block(asked);
    const PlanKeeper keeper{plan};
    void* const raw = call_for<Function>(plan, asked, arguments...);
    void* const block = keeper.adopt(raw, asked, origin);
    if (wanted && block != nullptr) report<Function>(block, request, origin);
    return static_cast<Result>(block);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_NOINLINE static int allocate_into(bool wanted, CallOrigin origin, void** result,
                                             Arguments... arguments) {
    const BlockRequest request = Function::request(result, arguments...);
    const AllocationRequest asked = wanted_block<Function>(request);
    const BlockPlan plan = Sink::plan_block(asked);
    const PlanKeeper keeper{plan};
    void* raw = plan.place;
    if (raw == nullptr) {
      const int error = std::apply(Originals::template get<Function>(),
                                   Function::with_bytes(plan.bytes, &raw, arguments...));
      if (error != 0) return error;
    }
    *result = keeper.adopt(raw, asked, origin);
    if (wanted) report<Function>(*result, request, origin);
    return 0;
  }

  template <class Function, class... Arguments>
  static void* reallocate(bool wanted, const CallOrigin& origin, void* old,
                          Arguments... arguments) {
    const std::size_t size = Function::request(old, arguments...).size;
    if (old == nullptr) return allocate<functions::Malloc>(wanted, origin, size);
    const DeallocationEvent gone{
        .pointer = old, .kind = DeallocationKind::kRealloc, .origin = origin};
    const BlockLookup extent = Sink::before_reallocate(gone);
    if (extent.verdict == BlockLookup::Verdict::kRefused) {
      errno = EINVAL;
      return nullptr;
    }
    if (extent.verdict == BlockLookup::Verdict::kUnknown) {
      return reallocate_unknown<Function>(wanted, gone, size, old, arguments...);
    }
    void* const block = size == 0 ? nullptr : allocate<functions::Malloc>(wanted, origin, size);
    if (block == nullptr && size != 0) return nullptr;
    if (block != nullptr) copy_touched(block, old, std::min(size, extent.size));
    release(wanted, gone);
    return block;
  }

  template <class Function, class... Arguments>
  static void deallocate(bool wanted, const CallOrigin& origin, void* block,
                         Arguments... arguments) {
    const BlockRequest stated = Function::request(arguments...);
    const DeallocationEvent gone{.pointer = block,
                                 .stated_size = stated.size,
                                 .stated_alignment = stated.alignment,
                                 .kind = Function::kind,
                                 .origin = origin};
    if (!release(wanted, gone)) Originals::template get<Function>()(block, arguments...);
  }

  /// Returns the block's usable size. `checks` is false for nested calls, which are not checked.
  static std::size_t measure(bool checks, const CallOrigin& origin, void* block) {
    const BlockLookup extent =
        checks && block != nullptr
            ? Sink::before_measure(block, functions::MallocUsableSize::name, origin)
            : Sink::usable_size(block);
    if (extent.verdict == BlockLookup::Verdict::kKnown) return extent.size;
    if (extent.verdict == BlockLookup::Verdict::kRefused) return 0;
    return Originals::template get<functions::MallocUsableSize>()(block);
  }

  /// Handlers for nested calls, which allocate unchecked blocks.
  struct Unchecked {
    static void note(void* block) noexcept {
      if (block != nullptr) Sink::register_unchecked_block(block);
    }

    /// Frees `block` if it is a checked block, unless a check refuses the free. Returns false if
    /// `block` is unchecked, so that the allocator must free it.
    static bool deallocate(void* block) noexcept {
      const ReleasePlan plan = Sink::release_unchecked(block);
      if (plan.action == ReleasePlan::Action::kRelease) give_back(plan);
      return plan.action != ReleasePlan::Action::kPassOn;
    }

    /// Moves the checked block `old` to an unchecked block, `*result` (nullptr if out of memory or
    /// if `size` is 0). Returns false if `old` is not a checked block.
    static bool reallocate(void* old, std::size_t size, void** result) noexcept {
      const BlockLookup extent = Sink::usable_size(old);
      if (extent.verdict != BlockLookup::Verdict::kKnown) return false;
      *result = size == 0 ? nullptr : Originals::template get<functions::Malloc>()(size);
      if (*result == nullptr && size != 0) return true;
      note(*result);
      if (*result != nullptr) copy_touched(*result, old, std::min(size, extent.size));
      static_cast<void>(deallocate(old));
      return true;
    }
  };

 private:
  /// Scope guard that drops the block's plan if the allocator returns null or throws.
  struct PlanKeeper {
    const BlockPlan& plan;
    mutable bool adopted = false;

    explicit PlanKeeper(const BlockPlan& kept) noexcept : plan(kept) {}
    PlanKeeper(const PlanKeeper&) = delete;
    PlanKeeper& operator=(const PlanKeeper&) = delete;
    ~PlanKeeper() {
      if (!adopted) Sink::drop_plan(plan);
    }

    void* adopt(void* raw, const AllocationRequest& asked,
                const CallOrigin& origin) const noexcept {
      if (raw == nullptr) return nullptr;
      adopted = true;
      return Sink::adopt_block(plan, raw, asked, origin);
    }
  };

  /// Checks the characters that strdup or strndup may read.
  template <class Function, class... Most>
  static void check_text(const CallOrigin& origin, const char* text, Most... most) noexcept {
    if (Sink::checks_strings())
      StringAccessChecker<Sink>(Function::name, origin).text(text, most...);
  }

  template <class Function>
  static void report(void* block, const BlockRequest& request, const CallOrigin& origin) noexcept {
    Sink::on_allocate(AllocationEvent{.pointer = block,
                                      .size = request.size,
                                      .alignment = request.alignment,
                                      .kind = Function::kind,
                                      .origin = origin});
  }

  template <class Function>
  static AllocationRequest wanted_block(const BlockRequest& request) noexcept {
    AllocationRequest asked{
        .size = request.size, .alignment = request.alignment, .kind = Function::kind};
    if constexpr (requires { Function::has_content; }) asked.has_content = true;
    if constexpr (is_paged<Function>()) asked.alignment = os::page_size();
    if constexpr (is_copy<Function>()) asked.has_content = true;
    if constexpr (requires { Function::gives_whole_pages; }) asked.size = whole_pages(asked.size);
    return asked;
  }

  /// Rounds up to whole pages. On overflow, returns SIZE_MAX, which no allocator can serve.
  static std::size_t whole_pages(std::size_t bytes) noexcept {
    const std::size_t page = os::page_size();
    return bytes > SIZE_MAX - page ? SIZE_MAX : (bytes + page - 1) / page * page;
  }

  template <class Function>
  static consteval bool is_copy() {
    return std::is_same_v<Function, functions::Strdup> ||
           std::is_same_v<Function, functions::Strndup>;
  }
  template <class Function>
  static consteval bool is_paged() {
    return std::is_base_of_v<functions::Valloc, Function>;
  }

  template <class Function, class... Arguments>
  static void* call_for(const BlockPlan& plan, const AllocationRequest& asked,
                        Arguments... arguments) {
    if constexpr (is_copy<Function>()) {
      return copy_text(plan, asked.size, arguments...);
    } else if (plan.place != nullptr) {
      return plan.place;
    } else if constexpr (is_paged<Function>()) {
      return Originals::template get<functions::Memalign>()(asked.alignment, plan.bytes);
    } else {
      return std::apply(Originals::template get<Function>(),
                        Function::with_bytes(plan.bytes, arguments...));
    }
  }

  /// Copies a text into a checked block. `size` includes the terminating null character.
  template <class... Most>
  static void* copy_text(const BlockPlan& plan, std::size_t size, const char* text, Most...) {
    void* const memory = plan.place != nullptr
                             ? plan.place
                             : Originals::template get<functions::Malloc>()(plan.bytes);
    auto* const raw = static_cast<char*>(memory);
    if (raw == nullptr) return nullptr;
    std::memcpy(raw + plan.front, text, size - 1);
    raw[plan.front + size - 1] = '\0';
    return raw;
  }

  /// Reallocates a block unknown to the sink. If `size` is 0, a null result means that the block
  /// was freed.
  template <class Function, class... Arguments>
  static void* reallocate_unknown(bool wanted, const DeallocationEvent& gone, std::size_t size,
                                  void* old, Arguments... arguments) {
    const DetachedBlock detached = wanted ? Sink::begin_reallocate(gone) : DetachedBlock{};
    void* const block = Originals::template get<Function>()(old, arguments...);
    // A reallocation that failed leaves the old block, whose mark `before_reallocate` removed.
    Unchecked::note(block == nullptr && size != 0 ? old : block);
    if (!wanted) return block;
    if (block == nullptr && size != 0) {
      Sink::cancel_reallocate(detached);
      return block;
    }
    Sink::finish_reallocate(detached);
    if (block != nullptr) {
      Sink::on_allocate(AllocationEvent{.pointer = block,
                                        .size = size,
                                        .kind = Function::kind,
                                        .origin = gone.origin,
                                        .reallocated = &detached});
    }
    return block;
  }

  /// Returns true if the free is complete or refused, false if the allocator must free the block.
  static bool release(bool wanted, const DeallocationEvent& gone) noexcept {
    const ReleasePlan plan = Sink::release_block(gone);
    if (plan.action == ReleasePlan::Action::kRefuse) return true;
    if (wanted) Sink::on_deallocate(gone);
    if (plan.action == ReleasePlan::Action::kPassOn) return false;
    if (Sink::retire_block(plan)) give_back(plan);
    for (ReleasePlan evicted; Sink::next_evicted(evicted, gone.origin);) give_back(evicted);
    return true;
  }

  static void give_back(const ReleasePlan& plan) noexcept {
    const auto alignment = static_cast<std::align_val_t>(plan.alignment);
    switch (plan.kind) {
      case AllocationKind::kNew:
        return Originals::template get<functions::Delete>()(plan.block);
      case AllocationKind::kNewArray:
        return Originals::template get<functions::DeleteArray>()(plan.block);
      case AllocationKind::kAlignedNew:
        return Originals::template get<functions::DeleteAligned>()(plan.block, alignment);
      case AllocationKind::kAlignedNewArray:
        return Originals::template get<functions::DeleteArrayAligned>()(plan.block, alignment);
      case AllocationKind::kMalloc:
      case AllocationKind::kAlignedAlloc:
      case AllocationKind::kAlignedMalloc:
      case AllocationKind::kCustom:
        return Originals::template get<functions::Free>()(plan.block);
    }
  }
};

}  // namespace alloctap
