/// The x86-64 patch of a function's entry, and the recognition of thunks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/arch/shadow_stack.hpp"
#include "alloctap/arch/x86_64/displaced_code.hpp"
#include "alloctap/arch/x86_64/instruction.hpp"
#include "alloctap/arch/x86_64/relocated_code.hpp"
#include "alloctap/arch/x86_64/text_store.hpp"

namespace alloctap::arch::x86_64 {

/// A planned or applied patch: a jmp rel32 at the function's entry. Trivially copyable. Keep the
/// object as long as a thread may trap, because the trap handler needs `resume_place`.
class EntryPatch {
 public:
  /// Size of an island, which consists of a stub and a trampoline.
  static constexpr std::size_t kIslandBytes = 16 + kTrampolineBytes;

  /// Plans the patch of an unpatched `function`. Refuses displaced calls if `under_shadow_stack`.
  static EntryPatch analyze(const FunctionCode& function,
                            bool under_shadow_stack = has_shadow_stack()) noexcept {
    EntryPatch patch;
    patch.displaced_ = analyze_function(function);
    if (patch.refusal() != PatchRefusal::kNone) return patch;
    if (under_shadow_stack) patch.refuse_calls();
    patch.text_.start = patch.start();
    const auto window = patch.displaced_bytes();
    std::copy_n(window.begin(), kPatchBytes, patch.text_.original.begin());
    for (const Instruction& instruction : patch.displaced_.code()) {
      patch.text_.begins[instruction.address - patch.start()] = true;
    }
    return patch;
  }

  [[nodiscard]] PatchRefusal refusal() const noexcept { return displaced_.refusal; }
  [[nodiscard]] std::uintptr_t refused_at() const noexcept { return displaced_.refused_at; }
  /// The range of bytes that the patch replaces.
  [[nodiscard]] std::uintptr_t start() const noexcept { return displaced_.start; }
  [[nodiscard]] std::uintptr_t end() const noexcept { return displaced_.start + kPatchBytes; }
  /// Returns the address of code that acts as the unpatched function; valid after `write_island`.
  [[nodiscard]] std::uintptr_t trampoline() const noexcept { return trampoline_; }

  /// Returns whether `other` displaces equal instructions at the same address.
  [[nodiscard]] bool displaces_same(const EntryPatch& other) const noexcept {
    const auto mine = displaced_bytes();
    const auto theirs = other.displaced_bytes();
    return start() == other.start() && displaced_.end() == other.displaced_.end() &&
           std::equal(mine.begin(), mine.end(), theirs.begin());
  }

  /// Calls `visit(address)` for candidate island addresses until `visit` returns true.
  template <class Visit>
  bool visit_places(Visit&& visit) const noexcept {
    return visit_stub_places(displaced_, visit);
  }

  /// Writes to `room` the island that will be mapped at `place`, an address that `visit_places`
  /// visited. The stub jumps through the word at `pointer`, at most 2 GiB away. If the result is a
  /// refusal, only `room` has changed, and another address may work.
  PatchRefusal write_island(std::span<std::byte, kIslandBytes> room, std::uintptr_t place,
                            std::uintptr_t pointer) noexcept {
    const std::uintptr_t trampoline = place + kTrampolineOffset;
    relocated_ = relocate(displaced_, room.subspan(kTrampolineOffset), trampoline);
    if (relocated_.refusal != PatchRefusal::kNone) return relocated_.refusal;
    CodeWriter(room.first(kTrampolineOffset), place).jump_through(pointer);
    CodeWriter entry(text_.patched, start());
    entry.jump(place);
    trampoline_ = trampoline;
    return PatchRefusal::kNone;
  }

  /// Returns whether threads may trap during or after patching.
  [[nodiscard]] bool traps() const noexcept {
    return displaced_.count > 1 || !text_.fits_one_store();
  }
  /// Returns whether `store` is safe only if `synchronize` works.
  [[nodiscard]] bool needs_synchronization() const noexcept { return !text_.fits_one_store(); }

  /// Returns whether the function has the patched bytes or, if `patched` is false, the original
  /// bytes. Precondition: the function's memory is readable.
  [[nodiscard]] bool is_in_state(bool patched) const noexcept {
    const PatchBytes& bytes = patched ? text_.patched : text_.original;
    return std::memcmp(reinterpret_cast<const void*>(start()), bytes.data(), bytes.size()) == 0;
  }

  /// Switches the function to the state `patched`, while other threads may run it. Precondition:
  /// the function's pages are writable and executable.
  template <class Synchronize>
  void store(bool patched, Synchronize&& synchronize) const noexcept {
    store_text(text_, patched, synchronize);
  }

  /// Returns the trampoline address at which a thread that trapped at `place` resumes. Returns 0 if
  /// this patch did not cause the trap. Async-signal-safe.
  [[nodiscard]] std::uintptr_t resume_place(std::uintptr_t place) const noexcept {
    for (std::size_t i = 0; i < displaced_.count; ++i) {
      if (displaced_.instructions[i].address == place) return trampoline_ + relocated_.offsets[i];
    }
    return 0;
  }

  /// Calls `visit(from, to, to_end)` for each displaced instruction, with its old address and its
  /// range in the trampoline. Makes at most `kMaxMoved` calls, by ascending address.
  template <class Visit>
  void visit_moved(Visit&& visit) const noexcept {
    for (std::size_t i = 0; i < displaced_.count; ++i) {
      const bool is_last = i + 1 == displaced_.count;
      visit(displaced_.instructions[i].address, trampoline_ + relocated_.offsets[i],
            trampoline_ + (is_last ? relocated_.size : relocated_.offsets[i + 1]));
    }
  }
  static constexpr std::size_t kMaxMoved = kPatchBytes;

 private:
  static constexpr std::size_t kTrampolineOffset = 16;

  /// Refuses the patch if a call is displaced, because its relocated form pushes the return address
  /// without a record on the shadow stack.
  void refuse_calls() noexcept {
    for (const Instruction& instruction : displaced_.code()) {
      const bool calls = instruction.flow == Flow::kCall || instruction.flow == Flow::kIndirectCall;
      if (calls) return displaced_.refuse(PatchRefusal::kCallUnderShadowStack, instruction.address);
    }
  }

  /// Returns the displaced instructions' bytes, at least five.
  [[nodiscard]] std::array<std::byte, kPatchBytes + ZYDIS_MAX_INSTRUCTION_LENGTH> displaced_bytes()
      const noexcept {
    std::array<std::byte, kPatchBytes + ZYDIS_MAX_INSTRUCTION_LENGTH> bytes{};
    std::size_t filled = 0;
    for (const Instruction& instruction : displaced_.code()) {
      std::copy_n(instruction.bytes.begin(), instruction.length, bytes.begin() + filled);
      filled += instruction.length;
    }
    return bytes;
  }

  DisplacedCode displaced_;
  RelocatedCode relocated_;
  PatchedText text_;
  std::uintptr_t trampoline_ = 0;
};

/// Returns the destination of `code` at `address` if it is a thunk; otherwise nullopt. A thunk is
/// an optional endbr64, then a jmp to an address or through a word in memory (PLT entries).
inline std::optional<ThunkDestination> thunk_destination(std::span<const std::byte> code,
                                                         std::uintptr_t address) noexcept {
  auto instruction = decode_instruction(code, address);
  if (instruction && instruction->is_landing_pad) {
    const std::size_t skipped = instruction->length;
    instruction = decode_instruction(code.subspan(skipped), address + skipped);
  }
  if (!instruction) return std::nullopt;
  if (instruction->flow == Flow::kJump)
    return ThunkDestination{.address = instruction->destination};
  // FF /4 is the only jump through a word in memory. Here its operand is RIP-relative.
  const bool is_jump = instruction->flow == Flow::kEnd && instruction->operand_offset != 0 &&
                       instruction->bytes[instruction->modrm_offset - 1U] == std::byte{0xFF};
  if (!is_jump) return std::nullopt;
  return ThunkDestination{.pointer = instruction->operand};
}

/// Returns whether `code` is a lazy binding stub: an optional endbr64, then push imm32. No compiler
/// generates a function that begins with this push.
inline bool is_binding_stub(std::span<const std::byte> code) noexcept {
  constexpr std::byte kPush{0x68};
  const auto instruction = decode_instruction(code, 0);
  if (instruction && instruction->is_landing_pad) code = code.subspan(instruction->length);
  return !code.empty() && code.front() == kPush;
}

}  // namespace alloctap::arch::x86_64
