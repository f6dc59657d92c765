/// Detects corrupted blocks and invalid frees.
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

/// Detects faults of blocks and logs each fault with `call`, the program's call that revealed the
/// fault. A `call` without a stack means a `BlockSweep`. Logging functions return the result of
/// `MisuseLog::add`. Thread-safe; runs inside malloc. Constant-initialized, never destroyed.
class BlockFaults {
 public:
  [[nodiscard]] const MisuseLog& log() const noexcept { return log_; }

  /// Logs a fault of the deallocation `gone`.
  const Misuse* add(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                    const BlockHistory& story) noexcept {
    return log_.add(make(kind, gone, call, story));
  }

  /// Logs an access that hit a guard page. `story` is the history of the nearest block.
  const Misuse* add_refused(const os::MemoryFault& fault, const BlockCall& call,
                            const BlockHistory& story) noexcept;

  /// Logs a size query (`function`) that got an address at which no live block begins.
  const Misuse* add_question(MisuseKind kind, const void* pointer, std::string_view function,
                             const BlockCall& call, const BlockHistory& story) noexcept;

  /// Logs an invalid read or write; `source` is the source address if the access is a copy.
  const Misuse* add_access(MisuseKind kind, const MemoryAccess& access, const BlockCall& call,
                           const BlockHistory& story, std::uintptr_t source = 0) noexcept;

  /// Logs a deallocation call whose kind, size, alignment or heap does not match the allocation.
  void check_kind(const DeallocationEvent& gone, const BlockCall& call, const BlockHistory& story,
                  FoundMisuses& found) noexcept;

  /// Logs overwritten red zones of a block that is live or being freed. Returns false if all red
  /// zones are intact.
  bool check_guards(const CheckSettings& settings, const CheckedBlock& block,
                    const DeallocationEvent& gone, const BlockCall& call,
                    FoundMisuses& found) noexcept;

  /// Logs writes to a quarantined block. Returns false if the block is unchanged.
  bool check_freed(const CheckSettings& settings, const CheckedBlock& block, const BlockCall& call,
                   FoundMisuses& found) noexcept;

 private:
  /// Returns whether the access was a write. Returns false if the processor does not report which;
  /// the access is then reported as a read.
  static bool writes(const os::MemoryFault& fault) noexcept {
    return fault.access == os::FaultAccess::kWrite;
  }

  static MisuseKind kind_of(const os::MemoryFault& fault, const BlockHistory& story) noexcept;

  static Misuse make(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                     const BlockHistory& story) noexcept;

  /// Not inlined, because a `Misuse` would be the largest object in the stack frame of a free.
  void add_changes(MisuseKind kind, const ChangedBytes& changed, const DeallocationEvent& gone,
                   const BlockCall& call, const BlockHistory& story, FoundMisuses& found) noexcept;

  MisuseLog log_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/block_faults.hpp"
#endif
