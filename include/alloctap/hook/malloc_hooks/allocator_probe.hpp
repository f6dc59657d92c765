/// Probes which calls an allocator's hooks report.
#pragma once

#include <cstddef>
#include <new>

#include "alloctap/event/allocator_frames.hpp"
#include "alloctap/hook/malloc_hooks/probe_findings.hpp"
#include "alloctap/hook/malloc_hooks/probe_sink.hpp"
#include "alloctap/hook/malloc_hooks/program_functions.hpp"
#include "alloctap/hook/program_operators.hpp"

namespace alloctap {

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
