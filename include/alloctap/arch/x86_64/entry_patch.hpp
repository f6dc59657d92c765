/// A jump to an island over the entry of a function on x86-64: `EntryPatch` of
/// arch/entry_patch.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/arch/function_code.hpp"
#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/arch/shadow_stack.hpp"
#include "alloctap/arch/x86_64/code_writer.hpp"
#include "alloctap/arch/x86_64/displaced_code.hpp"
#include "alloctap/arch/x86_64/relocated_code.hpp"
#include "alloctap/arch/x86_64/stub_places.hpp"
#include "alloctap/arch/x86_64/text_store.hpp"

namespace alloctap::arch::x86_64 {

/// What is to be changed, and into what. Plain data; kept for as long as a thread may trap.
class EntryPatch {
 public:
  /// Bytes of an island: the stub, then the trampoline.
  static constexpr std::size_t kIslandBytes = 16 + kTrampolineBytes;

  /// Looks at `function` as it is without a patch, for threads like the calling one.
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
  /// The bytes that change.
  [[nodiscard]] std::uintptr_t start() const noexcept { return displaced_.start; }
  [[nodiscard]] std::uintptr_t end() const noexcept { return displaced_.start + kPatchBytes; }
  /// Does what the function does without a patch; valid once an island is written.
  [[nodiscard]] std::uintptr_t trampoline() const noexcept { return trampoline_; }

  /// Whether both move the same instructions from the same place.
  [[nodiscard]] bool displaces_same(const EntryPatch& other) const noexcept {
    const auto mine = displaced_bytes();
    const auto theirs = other.displaced_bytes();
    return start() == other.start() && displaced_.end() == other.displaced_.end() &&
           std::equal(mine.begin(), mine.end(), theirs.begin());
  }

  /// Calls `visit(address)` for addresses where an island may begin until it returns true.
  template <class Visit>
  bool visit_places(Visit&& visit) const noexcept {
    return visit_stub_places(displaced_, visit);
  }

  /// Writes what will stand at `place`, one of those, and jumps through the word at `pointer`. On
  /// refusal nothing is changed but `room`, and another place may do.
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

  /// Whether threads may trap while the function is patched or being patched.
  [[nodiscard]] bool traps() const noexcept {
    return displaced_.count > 1 || !text_.fits_one_store();
  }
  /// Whether the store needs a `synchronize` that works.
  [[nodiscard]] bool needs_synchronization() const noexcept { return !text_.fits_one_store(); }

  /// Whether the function is in that state now; its memory can be read.
  [[nodiscard]] bool is_in_state(bool patched) const noexcept {
    const PatchBytes& bytes = patched ? text_.patched : text_.original;
    return std::memcmp(reinterpret_cast<const void*>(start()), bytes.data(), bytes.size()) == 0;
  }

  /// Puts the function, whose pages are writable and executable, into that state from the other
  /// one, whatever other threads do.
  template <class Synchronize>
  void store(bool patched, Synchronize&& synchronize) const noexcept {
    store_text(text_, patched, synchronize);
  }

  /// Where a thread goes on that trapped at `place`; 0 if that is none of this patch's. May run in
  /// a signal handler.
  [[nodiscard]] std::uintptr_t resume_place(std::uintptr_t place) const noexcept {
    for (std::size_t i = 0; i < displaced_.count; ++i) {
      if (displaced_.instructions[i].address == place) return trampoline_ + relocated_.offsets[i];
    }
    return 0;
  }

  /// Calls `visit(from, to, to_end)` for each displaced instruction: where it stood, and where it
  /// stands in the trampoline. In ascending order; at most `kMaxMoved`.
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

  /// A displaced call pushes where it returns to, which a shadow stack does not learn of.
  void refuse_calls() noexcept {
    for (const Instruction& instruction : displaced_.code()) {
      const bool calls = instruction.flow == Flow::kCall || instruction.flow == Flow::kIndirectCall;
      if (calls) return displaced_.refuse(PatchRefusal::kCallUnderShadowStack, instruction.address);
    }
  }

  /// Five at least, and as many as the displaced instructions have.
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

}  // namespace alloctap::arch::x86_64
