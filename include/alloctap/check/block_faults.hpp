/// What is wrong with a block, or with a call that gives one back.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/check/found_misuses.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/os/memory_fault.hpp"

namespace alloctap {

/// Finds faults and keeps them. Each function names the call in which it looks; one without a stack
/// is a sweep over all blocks. Thread-safe; runs inside malloc. Constant-initialized, never
/// destroyed.
class BlockFaults {
 public:
  [[nodiscard]] const MisuseLog& log() const noexcept { return log_; }

  /// Keeps a fault of `gone`; as `MisuseLog::add`.
  const Misuse* add(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                    const BlockHistory& story) noexcept {
    return log_.add(make(kind, gone, call, story));
  }

  /// Keeps an access near the block of `story`, or to it, that the processor refused.
  const Misuse* add_refused(const os::MemoryFault& fault, const BlockCall& call,
                            const BlockHistory& story) noexcept;

  /// Keeps a call of `function` with an address that is no block's. As `MisuseLog::add`.
  const Misuse* add_question(MisuseKind kind, const void* pointer, std::string_view function,
                             const BlockCall& call, const BlockHistory& story) noexcept;

  /// Keeps a fault of what a call reads or writes; `source` is of a copy. As `MisuseLog::add`.
  const Misuse* add_access(MisuseKind kind, const MemoryAccess& access, const BlockCall& call,
                           const BlockHistory& story, std::uintptr_t source = 0) noexcept;

  /// Whether `gone` gives a live block back as it came.
  void check_kind(const DeallocationEvent& gone, const BlockCall& call, const BlockHistory& story,
                  FoundMisuses& found) noexcept;

  /// Whether a guard was changed of a block that is live, or was until now.
  bool check_guards(const CheckSettings& settings, const CheckedBlock& block,
                    const DeallocationEvent& gone, const BlockCall& call,
                    FoundMisuses& found) noexcept;

  /// Whether anything was changed in a block that was freed and is still kept.
  bool check_freed(const CheckSettings& settings, const CheckedBlock& block, const BlockCall& call,
                   FoundMisuses& found) noexcept;

 private:
  /// What does not say that it writes is taken for a read.
  static bool writes(const os::MemoryFault& fault) noexcept {
    return fault.access == os::FaultAccess::kWrite;
  }

  static MisuseKind kind_of(const os::MemoryFault& fault, const BlockHistory& story) noexcept;

  static Misuse make(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                     const BlockHistory& story) noexcept;

  /// Out of line: a `Misuse` takes more stack than all else on the way of a free.
  void add_changes(MisuseKind kind, const ChangedBytes& changed, const DeallocationEvent& gone,
                   const BlockCall& call, const BlockHistory& story, FoundMisuses& found) noexcept;

  MisuseLog log_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/block_faults.hpp"
#endif
