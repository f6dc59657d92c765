/// Probes which calls an allocator's hooks report.
#pragma once

#include <unwind.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/malloc_hooks/probe_findings.hpp"
#include "alloctap/hook/program_operators.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Events that the hooks reported during one call.
struct ProbedCall {
  const void* allocated = nullptr;
  std::size_t size = 0;
  const void* freed = nullptr;
  bool reallocation = false;
  bool freed_first = false;
};

/// Event sink during a probe: captures events of the calling thread, and the allocator's frames.
/// Drops events of other threads. Only one thread at a time may probe.
class ProbeSink {
 public:
  /// Runs `call` as an outermost call and stores its result, a block or nullptr, in `block`.
  /// Returns what the hooks reported, and adds the allocator's frames to `frames`.
  template <class Call>
  ALLOCTAP_NOINLINE static ProbedCall calls_of(Call call, AllocatorFrames& frames,
                                               void*& block) noexcept {
    const AsProgram as_program;
    seen_ = {};
    frames_ = &frames;
    caller_ = reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS());
    thread_.store(&this_thread_slot(), std::memory_order_release);
    block = call();
    thread_.store(nullptr, std::memory_order_release);
    return seen_;
  }

  static void on_allocate(const AllocationEvent& event) noexcept {
    if (!mine()) return;
    seen_.allocated = event.pointer;
    seen_.size = event.size;
    learn_frames(event.origin);
  }
  static void on_deallocate(const DeallocationEvent& event) noexcept {
    if (!mine()) return;
    seen_.freed = event.pointer;
    seen_.freed_first = seen_.allocated == nullptr;
    learn_frames(event.origin);
  }
  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    on_deallocate(event);
    if (mine()) seen_.reallocation = true;
    return {};
  }
  static void cancel_reallocate(const DetachedBlock&) noexcept {}
  static void finish_reallocate(const DetachedBlock&) noexcept {}
  static void on_map(const MappingEvent&) noexcept {}
  static DetachedMappings begin_unmap(const MappingEvent&) noexcept { return {}; }
  static void cancel_unmap(DetachedMappings&) noexcept {}
  static void finish_unmap(DetachedMappings&) noexcept {}
  static void on_modules_unloading() noexcept {}
  static void on_modules_unloaded() noexcept {}

 private:
  /// Scope guard that makes this thread's calls outermost, although a `ReentrancyGuard` is held.
  class AsProgram {
   public:
    AsProgram() noexcept : depth_(this_thread_slot().depth.exchange(0)) {}
    ~AsProgram() { this_thread_slot().depth.store(depth_); }
    AsProgram(const AsProgram&) = delete;
    AsProgram& operator=(const AsProgram&) = delete;

   private:
    std::int32_t depth_;
  };

  /// Frames from the hook's caller to the probe. Ignored unless the walk finds both ends.
  struct Walk {
    static constexpr std::size_t kMaxCount = 32;
    std::uintptr_t first = 0;
    std::array<std::uintptr_t, kMaxCount> frames{};
    std::size_t count = 0;
    bool whole = false;
  };

  static bool mine() noexcept {
    return thread_.load(std::memory_order_acquire) == &this_thread_slot();
  }

  static void learn_frames(const CallOrigin& origin) noexcept {
    Walk walk;
    walk.first = reinterpret_cast<std::uintptr_t>(origin.caller);
    ::_Unwind_Backtrace(&visit, &walk);
    if (!walk.whole) return;
    for (std::size_t i = 0; i < walk.count; ++i) frames_->add(walk.frames[i]);
  }

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) noexcept {
    Walk& walk = *static_cast<Walk*>(argument);
    const std::uintptr_t frame = ::_Unwind_GetIP(context);
    walk.whole = frame == caller_;
    const bool before = walk.count == 0 && frame != walk.first;
    if (before && !walk.whole) return _URC_NO_REASON;
    if (walk.whole || walk.count == Walk::kMaxCount) return _URC_END_OF_STACK;
    walk.frames[walk.count++] = frame;
    return _URC_NO_REASON;
  }

  static inline constinit std::atomic<const ThreadSlot*> thread_{nullptr};
  static inline constinit ProbedCall seen_;
  static inline constinit AllocatorFrames* frames_ = nullptr;
  static inline constinit std::uintptr_t caller_ = 0;
};

static_assert(EventSink<ProbeSink>);

/// Addresses of the allocation functions that the program's calls resolve to; nullptr if undefined.
/// The constructor asks the loader first, because a preloaded object may have its own malloc, which
/// the program does not call. Uses the functions linked into this module only if the loader finds
/// no other malloc.
struct ProgramFunctions {
  ProgramFunctions() noexcept {
    void* const program_malloc = os::program_symbol("malloc");
    linked_counts_ = program_malloc == nullptr ||
                     program_malloc == reinterpret_cast<void*>(static_cast<Malloc*>(&std::malloc));
    find(malloc, "malloc", &std::malloc);
    find(calloc, "calloc", &std::calloc);
    find(realloc, "realloc", &std::realloc);
    find(free, "free", &std::free);
    find(aligned_alloc, "aligned_alloc", &std::aligned_alloc);
    find(posix_memalign, "posix_memalign", &::posix_memalign);
    find(strdup, "strdup", &::strdup);
    find(operator_new, "_Znwm", &::operator new);
    find(operator_new_array, "_Znam", &::operator new[]);
    find(aligned_new, "_ZnwmSt11align_val_t", &::operator new);
    find(operator_delete, "_ZdlPv", &::operator delete);
    find(operator_delete_array, "_ZdaPv", &::operator delete[]);
    find(aligned_delete, "_ZdlPvSt11align_val_t", &::operator delete);
  }

  using Malloc = void*(std::size_t);
  using AlignedNew = void*(std::size_t, std::align_val_t);

  Malloc* malloc = nullptr;
  void* (*calloc)(std::size_t, std::size_t) = nullptr;
  void* (*realloc)(void*, std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  void* (*aligned_alloc)(std::size_t, std::size_t) = nullptr;
  int (*posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
  char* (*strdup)(const char*) = nullptr;
  Malloc* operator_new = nullptr;
  Malloc* operator_new_array = nullptr;
  AlignedNew* aligned_new = nullptr;
  void (*operator_delete)(void*) = nullptr;
  void (*operator_delete_array)(void*) = nullptr;
  void (*aligned_delete)(void*, std::align_val_t) = nullptr;

 private:
  template <class Function>
  void find(Function*& function, const char* name,
            std::type_identity_t<Function>* linked) noexcept {
    function = reinterpret_cast<Function*>(os::program_symbol(name));
    if (function == nullptr && linked_counts_) function = linked;
  }

  bool linked_counts_ = false;
};

/// Probe that calls each allocation function once and evaluates what the hooks report. Control
/// plane; allocates and frees. Requires that `ProbeSink` is connected to `HookFeed`.
class AllocatorProbe {
 public:
  /// Probes all functions. Adds the allocator's frames that it finds on the stack to `frames`.
  [[nodiscard]] static ProbeFindings run(AllocatorFrames& frames) noexcept {
    AllocatorProbe probe(frames);
    ProbeFindings& findings = probe.findings_;
    findings.free = true;
    findings.malloc = probe.sees(
        probe.program_.malloc, [&] { return probe.program_.malloc(kSize); }, probe.program_.free);
    if (!findings.malloc) return {};
    probe.look_at_c_functions();
    probe.look_at_operators();
    probe.look_at_reallocation();
    return findings;
  }

 private:
  /// Block size in bytes; not a multiple of 16, so that an allocator rounds it up.
  static constexpr std::size_t kSize = 200;
  static constexpr std::size_t kOne = 1;
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kAlignedSize = 3 * kAlignment;

  explicit AllocatorProbe(AllocatorFrames& frames) noexcept : frames_(frames) {}

  void look_at_c_functions() noexcept {
    const auto free = program_.free;
    findings_.calloc = sees(program_.calloc, [&] { return program_.calloc(kOne, kSize); }, free);
    findings_.aligned_alloc = sees(
        program_.aligned_alloc, [&] { return program_.aligned_alloc(kAlignment, kAlignedSize); },
        free);
    findings_.posix_memalign = sees(
        program_.posix_memalign,
        [&] {
          void* block = nullptr;
          return program_.posix_memalign(&block, kAlignment, kSize) == 0 ? block : nullptr;
        },
        free);
    findings_.strdup = sees(
        program_.strdup, [&] { return static_cast<void*>(program_.strdup("alloctap")); }, free);
  }

  /// Skips operators that the program replaces, because they allocate by malloc and may not be
  /// initialized yet.
  void look_at_operators() noexcept {
    constexpr std::align_val_t kAligned{kAlignment};
    ProgramOperators::find();
    findings_.operator_new =
        ProgramOperators::serve<functions::New>() ||
        sees(
            program_.operator_new, [&] { return program_.operator_new(kSize); },
            program_.operator_delete);
    findings_.operator_new_array =
        ProgramOperators::serve<functions::NewArray>() ||
        sees(
            program_.operator_new_array, [&] { return program_.operator_new_array(kSize); },
            program_.operator_delete_array);
    findings_.aligned_new =
        ProgramOperators::serve<functions::NewAligned>() ||
        sees(
            program_.aligned_new, [&] { return program_.aligned_new(kSize, kAligned); },
            [&](void* block) { program_.aligned_delete(block, kAligned); });
  }

  /// Grows a block by so much that the block must move.
  void look_at_reallocation() noexcept {
    constexpr std::size_t kLarger = 64 * 1024;
    void* old = nullptr;
    ProbeSink::calls_of([&] { return program_.malloc(kSize); }, frames_, old);
    if (old == nullptr) return;
    void* block = nullptr;
    const ProbedCall told =
        ProbeSink::calls_of([&] { return program_.realloc(old, kLarger); }, frames_, block);
    if (block != nullptr && told.allocated == block && told.freed == old) {
      findings_.reallocation = kind_of(told);
    }
    program_.free(block == nullptr ? old : block);
  }

  static ProbeFindings::Reallocation kind_of(const ProbedCall& reallocation) noexcept {
    using Reallocation = ProbeFindings::Reallocation;
    if (reallocation.reallocation) return Reallocation::kWhole;
    return reallocation.freed_first ? Reallocation::kFreedFirst : Reallocation::kAsPair;
  }

  /// Returns true if the hooks report `allocate`, which calls `function` and returns a block. Frees
  /// the block. Returns true if `function` is nullptr, because no call can be missed.
  template <class Function, class Allocate, class Release>
  bool sees(Function* function, Allocate allocate, Release release) noexcept {
    if (function == nullptr) return true;
    void* block = nullptr;
    const ProbedCall told = ProbeSink::calls_of(allocate, frames_, block);
    if (block == nullptr) return false;
    void* nothing = nullptr;
    const ProbedCall gone = ProbeSink::calls_of(
        [&] {
          release(block);
          return static_cast<void*>(nullptr);
        },
        frames_, nothing);
    if (gone.freed != block) findings_.free = false;
    if (told.allocated != block) return false;
    if (told.size > kSize) findings_.exact_sizes = false;
    return true;
  }

  ProgramFunctions program_;
  AllocatorFrames& frames_;
  ProbeFindings findings_;
};

}  // namespace alloctap
