/// `EntryPatch` of arch/entry_patch.hpp for AArch64: one branch at the function's entry.
///
/// One aligned 4-byte store replaces one instruction, so no thread executes a mixture of old and
/// new code. No thread has to trap or be stopped. Afterwards the instruction caches are
/// invalidated, and `synchronize` makes every thread refetch. Until then, a thread may execute the
/// old or the new instruction. Both are correct, because the island is never freed.
///
/// The architecture guarantees that a concurrent thread executes the old or the new word if both
/// instructions are in this list: b, bl, brk, hvc, isb, nop, smc, svc. Nearly all functions begin
/// with other instructions. For them, the guarantee holds only for threads that synchronize before
/// they execute the word (DDI 0487, "Concurrent modification and execution of instructions"). When
/// Linux patches itself, it stops all processors. A program could only stop threads by signals,
/// which threads may block. In practice, processors fetch aligned words atomically, and caches are
/// coherent after invalidation. All tools that hook running functions rely on this behaviour.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/arch/aarch64/code_writer.hpp"
#include "alloctap/arch/aarch64/displaced_code.hpp"
#include "alloctap/arch/aarch64/island_places.hpp"
#include "alloctap/arch/aarch64/relocated_code.hpp"
#include "alloctap/arch/function_code.hpp"
#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/arch/shadow_stack.hpp"
#include "alloctap/macros.hpp"

namespace alloctap::arch::aarch64 {

/// A planned or applied patch. Trivially copyable.
class EntryPatch {
 public:
  /// Size of an island, which consists of a stub and a trampoline.
  static constexpr std::size_t kIslandBytes = 16 + kTrampolineBytes;

  /// Plans the patch of an unpatched `function`.
  static EntryPatch analyze(const FunctionCode& function) noexcept {
    EntryPatch patch;
    patch.displaced_ = analyze_function(function);
    if (patch.refusal() == PatchRefusal::kNone) patch.refuse_under_shadow_stack();
    return patch;
  }

  [[nodiscard]] PatchRefusal refusal() const noexcept { return displaced_.refusal; }
  [[nodiscard]] std::uintptr_t refused_at() const noexcept { return displaced_.refused_at; }
  /// The range of bytes that the patch replaces.
  [[nodiscard]] std::uintptr_t start() const noexcept { return displaced_.start(); }
  [[nodiscard]] std::uintptr_t end() const noexcept { return displaced_.end(); }
  /// Returns the address of code that acts as the unpatched function; valid after `write_island`.
  [[nodiscard]] std::uintptr_t trampoline() const noexcept { return trampoline_; }

  /// Returns whether `other` displaces an equal instruction at the same address.
  [[nodiscard]] bool displaces_same(const EntryPatch& other) const noexcept {
    return start() == other.start() && displaced_.signing == other.displaced_.signing &&
           original() == other.original();
  }

  /// Calls `visit(address)` for candidate island addresses until it returns true.
  template <class Visit>
  bool visit_places(Visit&& visit) const noexcept {
    return visit_island_places(start(), visit);
  }

  /// Writes to `room` the island that will be mapped at `place`, an address that `visit_places`
  /// visited. The stub jumps through the word at `pointer`, at most 1 MiB away. If the result is a
  /// refusal, only `room` has changed, and another address may work.
  PatchRefusal write_island(std::span<std::byte, kIslandBytes> room, std::uintptr_t place,
                            std::uintptr_t pointer) noexcept {
    CodeWriter stub(room.first<kTrampolineOffset>(), place);
    // Removes the signature that the landing pad added. The stack pointer, which the signature
    // includes, is still the entry's.
    if (displaced_.signing != 0) stub.put(displaced_.signing | kAuthenticates);
    stub.load(kSecondScratch, pointer);
    stub.jump_to_register(kSecondScratch);
    const std::uintptr_t trampoline = place + kTrampolineOffset;
    const RelocatedCode relocated =
        relocate(displaced_, room.subspan<kTrampolineOffset>(), trampoline);
    if (relocated.refusal != PatchRefusal::kNone) return relocated.refusal;
    if (!stub.reaches() || !is_branch_in_reach(start(), place)) {
      return PatchRefusal::kOperandOutOfReach;
    }
    clear_instruction_cache(room.data(), room.size());
    patched_ = branch_word(start(), place);
    trampoline_ = trampoline;
    return PatchRefusal::kNone;
  }

  [[nodiscard]] static bool traps() noexcept { return false; }
  [[nodiscard]] static bool needs_synchronization() noexcept { return false; }

  /// Returns whether the function's bytes are the patched or, if not `patched`, the original ones.
  /// Precondition: the function's memory is readable.
  [[nodiscard]] bool is_in_state(bool patched) const noexcept {
    std::uint32_t now = 0;
    std::memcpy(&now, reinterpret_cast<const void*>(start()), sizeof now);
    return now == (patched ? patched_ : original());
  }

  /// Switches the function to the state `patched`, while other threads may run it. Precondition:
  /// its page is writable and executable. Without a working `synchronize`, other threads see the
  /// change later.
  template <class Synchronize>
  void store(bool patched, Synchronize&& synchronize) const noexcept {
    auto* const word = reinterpret_cast<std::uint32_t*>(start());
    std::atomic_ref(*word).store(patched ? patched_ : original(), std::memory_order_release);
    clear_instruction_cache(reinterpret_cast<std::byte*>(word), sizeof *word);
    synchronize();
  }

  /// Returns 0, because threads never trap on this patch.
  [[nodiscard]] static std::uintptr_t resume_place(std::uintptr_t) noexcept { return 0; }

  /// Calls `visit(from, to, to_end)` with the displaced instruction's address and the trampoline's
  /// range.
  template <class Visit>
  void visit_moved(Visit&& visit) const noexcept {
    visit(start(), trampoline_, trampoline_ + kIslandBytes - kTrampolineOffset);
  }
  static constexpr std::size_t kMaxMoved = 1;

 private:
  static constexpr std::size_t kTrampolineOffset = 16;
  /// The bit that turns paciasp into autiasp, and pacibsp into autibsp.
  static constexpr std::uint32_t kAuthenticates = 0x80;

  [[nodiscard]] std::uint32_t original() const noexcept { return displaced_.instruction.word; }

  static void clear_instruction_cache(std::byte* first, std::size_t bytes) noexcept {
    auto* const begin = reinterpret_cast<char*>(first);
    ALLOCTAP_CLEAR_INSTRUCTION_CACHE(begin, begin + bytes);
  }

  void refuse_under_shadow_stack() noexcept {
    const Form form = displaced_.instruction.form;
    const bool calls = form == Form::kCall || form == Form::kIndirectCall;
    if (calls && has_shadow_stack())
      displaced_.refuse(PatchRefusal::kCallUnderShadowStack, start());
  }

  DisplacedCode displaced_;
  std::uint32_t patched_ = 0;
  std::uintptr_t trampoline_ = 0;
};

}  // namespace alloctap::arch::aarch64
