/// One function of this process, replaced by another one while the program runs.
///
///     auto patch = alloctap::FunctionPatch::prepare(&puts, &my_puts);
///     if (patch.ok()) original_puts = patch->original(&puts);
///     if (patch.ok()) status = patch->enable();
///
/// Every call from everywhere reaches the replacement then, because the function's first bytes
/// jump to it. The replacement may call the original, which does what the function did before.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/hook/inline/patch_island.hpp"
#include "alloctap/hook/inline/patch_record.hpp"
#include "alloctap/hook/inline/patch_target.hpp"
#include "alloctap/hook/inline/writable_text.hpp"
#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/os/core_synchronization.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/trap_signals.hpp"
#include "alloctap/pe/native_guarded_code.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Owns the patch of one function; move-only; the function is restored in the destructor.
///
/// Threads: any number may run the function while it is patched and restored. None is stopped, none
/// needs to be elsewhere. An object itself is used by one thread at a time. On AArch64 a jump
/// displaces one instruction (arch/aarch64/entry_patch.hpp). On x86-64 it may be several: a thread
/// that was interrupted between them finds a trap when it goes on, and SIGTRAP's or SIGILL's
/// handler, on Windows one of the process's exceptions, sends it to where these instructions stand
/// now. It must not block these signals, and no other handler may be installed over ours while
/// functions are patched. (On Windows handlers that come first pass on what is not theirs, but a
/// debugger stops at the breakpoint.) Where the jump lies across two words, Windows stops each
/// thread for a moment, one after the other.
///
/// Memory: an island of three pages per function, within 2 GiB of it on x86-64 and 128 MiB on
/// AArch64, never given back, used again when the function is patched again. No page of ours is
/// ever writable and executable at once; the function's own page is for the moment of the change,
/// and has then what it had before, guarded branch targets included (pe/native_guarded_code.hpp).
///
/// Unwinding: neither stub nor trampoline is on the stack while anything is called, so exceptions
/// and captured stacks pass through a patched function. A signal that interrupts a trampoline, of a
/// few instructions, finds no unwind information there. An exception of Windows' that an
/// instruction in it raises goes the way that it would have gone in the function, but for handlers
/// of that function itself.
///
/// The modules of function and replacement stay loaded for ever once it was enabled. Control plane:
/// not inside malloc, not in a signal handler. errno may change.
class FunctionPatch {
 public:
  /// Looks at the function and makes what is needed; changes nothing of it. Errors, each with the
  /// function's name, address and bytes: InvalidArgument (its length is unknown, it is not mapped
  /// or not executable), Unimplemented (arch/patch_refusal.hpp), AlreadyExists (another
  /// FunctionPatch has it), ResourceExhausted (no free memory in reach), PermissionDenied (the
  /// system lets no memory become executable).
  static Result<FunctionPatch> prepare(const PatchTarget& target, const void* replacement) {
    return prepare(target, replacement, MemoryRegions::read());
  }

  /// The same for one of several functions. `regions` was read when their modules were loaded.
  static Result<FunctionPatch> prepare(const PatchTarget& target, const void* replacement,
                                       const MemoryRegions& regions) {
    const PatchTarget described = target.described();
    if (auto status = check_memory(described, regions); !status.ok()) return status;
    // Before the lock: the loader has locks of its own.
    if (!target.modules_stay) {
      os::pin_module(target.address);
      os::pin_module(replacement);
    }
    const std::lock_guard held(PatchRecords::lock);
    auto record = find_record(described, regions);
    if (!record.ok()) return record.status();
    (*record)->first_page = protection_at(regions, (*record)->patch.start());
    (*record)->last_page = protection_at(regions, (*record)->patch.end() - 1);
    (*record)->in_use = true;
    return FunctionPatch(**record, described, replacement);
  }

  template <class Returned, class... Arguments>
  static Result<FunctionPatch> prepare(Returned (*target)(Arguments...),
                                       Returned (*replacement)(Arguments...)) {
    return prepare({.address = reinterpret_cast<const void*>(target)},
                   reinterpret_cast<const void*>(replacement));
  }

  FunctionPatch(FunctionPatch&& other) noexcept
      : record_(std::exchange(other.record_, nullptr)),
        target_(std::move(other.target_)),
        replacement_(other.replacement_) {}
  FunctionPatch& operator=(FunctionPatch&& other) noexcept {
    std::swap(record_, other.record_);
    std::swap(target_, other.target_);
    std::swap(replacement_, other.replacement_);
    return *this;
  }
  ~FunctionPatch() { release(); }

  /// What the function did before, at another address; as good as the function while it is not
  /// patched. Valid for ever. The argument is anything of its type.
  template <class Function>
    requires std::is_function_v<Function>
  Function* original(Function*) const noexcept {
    return reinterpret_cast<Function*>(record_->patch.trampoline());
  }

  [[nodiscard]] bool is_enabled() const noexcept { return record_->enabled; }

  /// From now on calls reach the replacement; does nothing if they do already. On an error the
  /// function is as it was. FailedPrecondition: its bytes are not those that were prepared, or
  /// there is no way to make the change safe for other threads. PermissionDenied: the system does
  /// not let code be written. Internal: it did not give a page back its protection.
  Status enable() {
    const std::lock_guard held(PatchRecords::lock);
    if (record_->enabled) return Status();
    if (!record_->patch.is_in_state(false)) return changed_by_others("is not what was prepared");
    if (auto status = prepare_threads(); !status.ok()) return status;
    record_->destination.store(replacement_, std::memory_order_release);
    return change(true);
  }

  /// From now on calls run the function as it was, byte for byte; does nothing if they do already.
  /// Threads may be in the replacement still. FailedPrecondition: another tool has changed the
  /// bytes since, so they stay, and calls that come to our stub through its jump pass to the
  /// original.
  Status disable() {
    const std::lock_guard held(PatchRecords::lock);
    if (!record_->enabled) return Status();
    record_->destination.store(record_->patch.trampoline(), std::memory_order_release);
    if (!record_->patch.is_in_state(true)) return changed_by_others("was patched by another");
    return change(false);
  }

 private:
  FunctionPatch(PatchRecord& record, PatchTarget target, const void* replacement) noexcept
      : record_(&record),
        target_(std::move(target)),
        replacement_(reinterpret_cast<std::uintptr_t>(replacement)) {}

  static Status check_memory(const PatchTarget& target, const MemoryRegions& regions) {
    const auto fail = [&target](const char* why) {
      return Status::invalid_argument(target.in_words(), ", ", first_bytes_of(target), ": ", why);
    };
    if (target.bytes == 0) return fail("no exported symbol tells its length; state it");
    for (std::uintptr_t at = target.start(); at < target.start() + target.bytes;) {
      const os::MemoryRegion* region = regions.find(at);
      if (region == nullptr) return fail("nothing is mapped there");
      if (!region->executable) return fail("its memory is not executable");
      if (!region->readable) return fail("its memory cannot be read");
      at = region->end;
    }
    return Status();
  }

  /// The record of the function, made if there is none yet. Under the lock.
  static Result<PatchRecord*> find_record(const PatchTarget& target, const MemoryRegions& regions) {
    const auto patch = arch::EntryPatch::analyze(target.code(regions));
    const bool covered = PatchRecords::find_enabled(target.start()) != nullptr ||
                         PatchRecords::find_enabled(patch.start()) != nullptr;
    if (covered) return already_patched(target);
    if (patch.refusal() != arch::PatchRefusal::kNone) {
      return refuse_patch(target, patch.refusal(), patch.refused_at());
    }
    PatchRecord* const known = PatchRecords::find(patch);
    if (known != nullptr) {
      if (known->in_use) return already_patched(target);
      return known;
    }
    const PatchIsland island = PatchIslandMaker(patch, regions).make();
    if (island.record == nullptr) return no_island(target, island);
    PatchRecords::add(*island.record);
    return island.record;
  }

  static os::Protection protection_at(const MemoryRegions& regions, std::uintptr_t at) noexcept {
    const os::MemoryRegion* region = regions.find(at);
    if (region == nullptr) return {};
    return {region->readable, region->writable, region->executable, native::has_guarded_code(at)};
  }

  static Status forbidden(const PatchTarget& target, const char* what) {
    const std::string why = os::why_code_is_forbidden();
    return Status::permission_denied(target.in_words(), ", ", first_bytes_of(target),
                                     ": the system does not let ", what, "; ", why,
                                     "; PltHook and WindowsImportHook write no code");
  }

  static Status already_patched(const PatchTarget& target) {
    return Status::already_exists(target.in_words(), ": another FunctionPatch is on it");
  }

  static Status no_island(const PatchTarget& target, const PatchIsland& island) {
    if (island.may_not_execute) return forbidden(target, "memory become executable");
    if (island.refusal != arch::PatchRefusal::kNone) {
      return refuse_patch(target, island.refusal, target.start());
    }
    return Status::resource_exhausted(
        target.in_words(), ", ", first_bytes_of(target),
        ": no memory is free where a jump would reach it; patch it before so much is "
        "mapped around it, or hook its callers by PltHook, WindowsImportHook");
  }

  [[nodiscard]] Status changed_by_others(const char* what) const {
    return Status::failed_precondition(target_.in_words(), ", ", first_bytes_of(target_), ": ",
                                       what);
  }

  /// What threads need that may be between displaced instructions.
  [[nodiscard]] Status prepare_threads() const {
    if (record_->patch.needs_synchronization() && !os::synchronize_cores()) {
      return changed_by_others(
          "lies across two words, and the system does not stop or interrupt the other threads");
    }
    if (record_->patch.traps() && !os::catch_traps(&PatchRecords::resume_place)) {
      return changed_by_others("the system lets nobody handle traps");
    }
    return Status();
  }

  Status change(bool patched) {
    const WritableText text(*record_);
    if (!text.make()) {
      return forbidden(target_, "its code be written");
    }
    record_->patch.store(patched, [] { os::synchronize_cores(); });
    record_->enabled = patched;
    if (text.restore()) return Status();
    return Status::internal(target_.in_words(), ": its page did not get back its protection");
  }

  /// What cannot be restored stays in use, so that nobody else takes its island.
  void release() noexcept {
    if (record_ == nullptr || !disable().ok()) return;
    const std::lock_guard held(PatchRecords::lock);
    record_->in_use = false;
  }

  PatchRecord* record_;
  PatchTarget target_;
  std::uintptr_t replacement_;
};

}  // namespace alloctap
