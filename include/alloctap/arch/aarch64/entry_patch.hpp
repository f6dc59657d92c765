/// A branch to an island over the entry of a function on AArch64: `EntryPatch` of
/// arch/entry_patch.hpp.
///
/// One instruction is replaced, by one aligned store of its four bytes, so a thread has run it or
/// has not, and none is ever between: nothing traps, and no thread has to be anywhere. Then the
/// instruction caches are told, and `synchronize` makes every thread fetch anew. Until then a
/// thread may run either instruction, and both are right: the island stays.
///
/// What the architecture promises of that: where a word changes from one of b, bl, brk, hvc, isb,
/// nop, smc, svc to another of these, a thread that runs it meanwhile runs one or the other. Of
/// other instructions, which nearly all entries are, it promises that only for threads that
/// synchronize before they come there (DDI 0487, "Concurrent modification and execution of
/// instructions"), and Linux stops all processors before it changes such a word of its own. For a
/// program's own threads there is no such means but signals, which some block. Processors fetch
/// aligned words whole, from caches that are coherent with the store once it is told them: every
/// tool that hooks functions of running programs relies on that, and this one does.
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

/// What is to be changed, and into what. Plain data.
class EntryPatch {
 public:
  /// Bytes of an island: the stub, then the trampoline.
  static constexpr std::size_t kIslandBytes = 16 + kTrampolineBytes;

  /// Looks at `function` as it is without a patch.
  static EntryPatch analyze(const FunctionCode& function) noexcept {
    EntryPatch patch;
    patch.displaced_ = analyze_function(function);
    if (patch.refusal() == PatchRefusal::kNone) patch.refuse_under_shadow_stack();
    return patch;
  }

  [[nodiscard]] PatchRefusal refusal() const noexcept { return displaced_.refusal; }
  [[nodiscard]] std::uintptr_t refused_at() const noexcept { return displaced_.refused_at; }
  /// The bytes that change.
  [[nodiscard]] std::uintptr_t start() const noexcept { return displaced_.start(); }
  [[nodiscard]] std::uintptr_t end() const noexcept { return displaced_.end(); }
  /// Does what the function does without a patch; valid once an island is written.
  [[nodiscard]] std::uintptr_t trampoline() const noexcept { return trampoline_; }

  /// Whether both move the same instruction from the same place.
  [[nodiscard]] bool displaces_same(const EntryPatch& other) const noexcept {
    return start() == other.start() && displaced_.signing == other.displaced_.signing &&
           original() == other.original();
  }

  /// Calls `visit(address)` for addresses where an island may begin until it returns true.
  template <class Visit>
  bool visit_places(Visit&& visit) const noexcept {
    return visit_island_places(start(), visit);
  }

  /// Writes what will stand at `place`, one of those, and jumps through the word at `pointer`,
  /// which is within 1 MiB. On refusal nothing is changed but `room`, and another place may do.
  PatchRefusal write_island(std::span<std::byte, kIslandBytes> room, std::uintptr_t place,
                            std::uintptr_t pointer) noexcept {
    CodeWriter stub(room.first<kTrampolineOffset>(), place);
    // The landing pad has signed the return address: back, with the same stack pointer.
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

  /// Whether the function is in that state now; its memory can be read.
  [[nodiscard]] bool is_in_state(bool patched) const noexcept {
    std::uint32_t now = 0;
    std::memcpy(&now, reinterpret_cast<const void*>(start()), sizeof now);
    return now == (patched ? patched_ : original());
  }

  /// Puts the function, whose page is writable and executable, into that state from the other one,
  /// whatever other threads do. Where `synchronize` does nothing they see it later.
  template <class Synchronize>
  void store(bool patched, Synchronize&& synchronize) const noexcept {
    auto* const word = reinterpret_cast<std::uint32_t*>(start());
    std::atomic_ref(*word).store(patched ? patched_ : original(), std::memory_order_release);
    clear_instruction_cache(reinterpret_cast<std::byte*>(word), sizeof *word);
    synchronize();
  }

  /// No thread ever traps.
  [[nodiscard]] static std::uintptr_t resume_place(std::uintptr_t) noexcept { return 0; }

  /// Calls `visit(from, to, to_end)` for the displaced instruction: where it stood, and the
  /// trampoline.
  template <class Visit>
  void visit_moved(Visit&& visit) const noexcept {
    visit(start(), trampoline_, trampoline_ + kIslandBytes - kTrampolineOffset);
  }
  static constexpr std::size_t kMaxMoved = 1;

 private:
  static constexpr std::size_t kTrampolineOffset = 16;
  /// paciasp as autiasp, pacibsp as autibsp.
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
