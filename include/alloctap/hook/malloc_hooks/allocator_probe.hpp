/// Calls the allocator and looks what its hooks tell.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "alloctap/event/allocator_frames.hpp"
#include "alloctap/hook/malloc_hooks/probe_findings.hpp"
#include "alloctap/hook/malloc_hooks/probe_sink.hpp"

namespace alloctap {

/// Calls `function` so that the compiler cannot tell which it is.
template <class Function, class... Arguments>
auto call_unknown(Function* function, Arguments... arguments) noexcept {
  Function* volatile call = function;
  return call(arguments...);
}

/// Finds out what an allocator's hooks tell, by one call of each function. Control plane; allocates
/// and frees. The caller has connected `ProbeSink`.
class AllocatorProbe {
 public:
  /// The frames that were met go to `frames`.
  [[nodiscard]] static ProbeFindings run(AllocatorFrames& frames) noexcept {
    AllocatorProbe probe(frames);
    ProbeFindings& findings = probe.findings_;
    findings.free = true;
    findings.malloc = probe.sees([] { return call_unknown(&std::malloc, kSize); }, &std::free);
    if (!findings.malloc) return {};
    probe.look_at_c_functions();
    probe.look_at_operators();
    probe.look_at_reallocation();
    return findings;
  }

 private:
  /// No multiple of an alignment.
  static constexpr std::size_t kSize = 200;
  static constexpr std::size_t kOne = 1;
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kAlignedSize = 3 * kAlignment;

  explicit AllocatorProbe(AllocatorFrames& frames) noexcept : frames_(frames) {}

  void look_at_c_functions() noexcept {
    findings_.calloc = sees([] { return call_unknown(&std::calloc, kOne, kSize); }, &std::free);
    findings_.aligned_alloc = sees(
        [] { return call_unknown(&std::aligned_alloc, kAlignment, kAlignedSize); }, &std::free);
    findings_.posix_memalign = sees(&align_with_posix, &std::free);
    findings_.strdup =
        sees([] { return static_cast<void*>(call_unknown(&::strdup, "alloctap")); }, &std::free);
  }

  void look_at_operators() noexcept {
    using New = void*(std::size_t);
    using AlignedNew = void*(std::size_t, std::align_val_t);
    constexpr std::align_val_t kAligned{kAlignment};
    findings_.operator_new = sees([] { return call_unknown<New>(&::operator new, kSize); },
                                  [](void* block) { ::operator delete(block); });
    findings_.operator_new_array = sees([] { return call_unknown<New>(&::operator new[], kSize); },
                                        [](void* block) { ::operator delete[](block); });
    findings_.aligned_new =
        sees([] { return call_unknown<AlignedNew>(&::operator new, kSize, kAligned); },
             [](void* block) { ::operator delete(block, kAligned); });
  }

  /// A block is made larger, so that it has to move.
  void look_at_reallocation() noexcept {
    constexpr std::size_t kLarger = 64 * 1024;
    void* old = nullptr;
    ProbeSink::told_by([] { return call_unknown(&std::malloc, kSize); }, frames_, old);
    if (old == nullptr) return;
    void* block = nullptr;
    const ToldCall told = ProbeSink::told_by(
        [&] { return call_unknown(&std::realloc, old, kLarger); }, frames_, block);
    if (block != nullptr && told.allocated == block && told.freed == old) {
      findings_.reallocation = kind_of(told);
    }
    call_unknown(&std::free, block == nullptr ? old : block);
  }

  static ProbeFindings::Reallocation kind_of(const ToldCall& reallocation) noexcept {
    using Reallocation = ProbeFindings::Reallocation;
    if (reallocation.reallocation) return Reallocation::kWhole;
    return reallocation.freed_first ? Reallocation::kFreedFirst : Reallocation::kAsPair;
  }

  static void* align_with_posix() noexcept {
    void* block = nullptr;
    return call_unknown(&::posix_memalign, &block, kAlignment, kSize) == 0 ? block : nullptr;
  }

  /// Whether `allocate` is told as an allocation of what it returns; gives the block back.
  template <class Allocate, class Release>
  bool sees(Allocate allocate, Release release) noexcept {
    void* block = nullptr;
    const ToldCall told = ProbeSink::told_by(allocate, frames_, block);
    if (block == nullptr) return false;
    void* nothing = nullptr;
    const ToldCall gone = ProbeSink::told_by(
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

  AllocatorFrames& frames_;
  ProbeFindings findings_;
};

}  // namespace alloctap
