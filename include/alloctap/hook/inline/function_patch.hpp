/// Inline hook: replaces one function of this process at run time, for all callers.
///
///     auto patch = alloctap::FunctionPatch::prepare(&puts, &my_puts);
///     if (patch.ok()) original_puts = patch->original(&puts);
///     if (patch.ok()) status = patch->enable();
///
/// After `enable`, the function's first bytes jump to the replacement. The replacement may call the
/// original, which behaves like the function before the patch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/hook/inline/patch_island.hpp"
#include "alloctap/hook/inline/patch_target.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/patched_code.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/pe/guarded_code.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Write access to the pages that a patch changes. The pages stay executable meanwhile, because
/// other threads run them. `restore` restores their exact protection.
class WritableText {
 public:
  explicit WritableText(const PatchRecord& record) noexcept : record_(record) {}

  [[nodiscard]] bool make() const noexcept {
    if (!protect(first(), writable(record_.first_page))) return false;
    if (last() == first() || protect(last(), writable(record_.last_page))) return true;
    static_cast<void>(protect(first(), record_.first_page));
    return false;
  }

  [[nodiscard]] bool restore() const noexcept {
    const bool restored = protect(first(), record_.first_page);
    return (last() == first() || protect(last(), record_.last_page)) && restored;
  }

 private:
  [[nodiscard]] std::uintptr_t first() const noexcept { return page_of(record_.patch.start()); }
  [[nodiscard]] std::uintptr_t last() const noexcept { return page_of(record_.patch.end() - 1); }

  static std::uintptr_t page_of(std::uintptr_t address) noexcept {
    return address & ~(os::page_size() - 1);
  }
  static os::Protection writable(os::Protection protection) noexcept {
    protection.writable = true;
    return protection;
  }
  static bool protect(std::uintptr_t page, os::Protection protection) noexcept {
    return os::protect_pages(page, os::page_size(), protection);
  }

  const PatchRecord& record_;
};

/// Inline hook of one function. Move-only; the destructor restores the function.
///
/// Threads: any number may run the function while it is patched or restored. No thread is stopped,
/// except on Windows if the jump crosses a word boundary: each thread is then briefly stopped in
/// turn. Use each object from one thread at a time. On AArch64 the jump displaces one instruction
/// (arch/aarch64/entry_patch.hpp). On x86-64 it may displace several. A thread that was interrupted
/// between displaced instructions traps when it resumes. A handler of SIGTRAP or SIGILL, or a
/// vectored exception handler on Windows, moves the thread to the relocated instructions. While
/// functions are patched, threads must not block these signals, and no other handler may replace
/// this handler. On Windows, other traps pass to the next handler, but a debugger stops at the
/// breakpoint.
///
/// Memory: three pages per function, at most 2 GiB away on x86-64 and 128 MiB on AArch64. The pages
/// are never unmapped, and are reused when the function is patched again. These pages are never
/// writable and executable at once. The page of the function itself is both while it is changed;
/// afterwards its protection is restored, including guarded branch targets (pe/guarded_code.hpp).
///
/// Unwinding: neither stub nor trampoline is on the stack during a call, so exceptions and stack
/// captures pass through a patched function. On Linux, an unwinder finds no unwind data if a signal
/// interrupts the trampoline. A Windows exception raised in the trampoline reaches the callers'
/// handlers, but not the function's own handlers.
///
/// `prepare` pins the modules of function and replacement for ever, unless `modules_stay` is true.
/// Control plane: must not be called inside malloc or in a signal handler. errno may change.
class FunctionPatch {
 public:
  /// Analyzes the function and allocates stub and trampoline, without changing the function. Error
  /// messages have the function's address and bytes. InvalidArgument: the function's length is
  /// unknown, or its code is not mapped, readable and executable. Unimplemented: see
  /// arch/patch_refusal.hpp. AlreadyExists: already patched. ResourceExhausted: no free memory in
  /// reach. PermissionDenied: no memory may become executable.
  static Result<FunctionPatch> prepare(const PatchTarget& target, const void* replacement) {
    return prepare(target, replacement, MemoryRegions::read());
  }

  /// Variant for several functions. `regions` must be read after the functions' modules are loaded.
  static Result<FunctionPatch> prepare(const PatchTarget& target, const void* replacement,
                                       const MemoryRegions& regions) {
    const PatchTarget described = target.described();
    if (auto status = check_memory(described, regions); !status.ok()) return status;
    // Modules are pinned before the lock is taken, because the loader has its own locks.
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

  /// Returns the trampoline, which runs the original even while the function is not patched. Valid
  /// for ever. The argument only determines the type.
  template <class Function>
    requires std::is_function_v<Function>
  Function* original(Function*) const noexcept {
    return reinterpret_cast<Function*>(record_->patch.trampoline());
  }

  [[nodiscard]] bool is_enabled() const noexcept { return record_->enabled; }

  /// Redirects calls to the replacement; does nothing if already enabled. FailedPrecondition: the
  /// function's bytes changed since `prepare`, or the change cannot be made safe for other threads.
  /// PermissionDenied: code may not be written. After either error, the function is unchanged.
  /// Internal: the function is patched, but the protection of a page was not restored.
  Status enable() {
    const std::lock_guard held(PatchRecords::lock);
    if (record_->enabled) return Status();
    if (!record_->patch.is_in_state(false)) return changed_by_others("is not what was prepared");
    if (auto status = prepare_threads(); !status.ok()) return status;
    record_->destination.store(replacement_, std::memory_order_release);
    return change(true);
  }

  /// Restores the function byte for byte; does nothing if disabled. Threads may still run the
  /// replacement afterwards. FailedPrecondition: another tool changed the bytes, so they are not
  /// restored. Calls that reach the stub then pass to the original.
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

  /// Finds or creates the function's record. Requires `PatchRecords::lock`.
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

  /// Ensures that a thread interrupted between displaced instructions can resume.
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

  /// Restores the function and releases its record. Keeps the record in use if restoring fails.
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
