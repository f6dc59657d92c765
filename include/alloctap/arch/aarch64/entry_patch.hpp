/// The AArch64 patch of a function's entry, its island addresses, and the recognition of thunks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "alloctap/arch/aarch64/displaced_code.hpp"
#include "alloctap/arch/aarch64/instruction.hpp"
#include "alloctap/arch/aarch64/relocated_code.hpp"
#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/arch/shadow_stack.hpp"
#include "alloctap/macros.hpp"

namespace alloctap::arch::aarch64 {

namespace thunks {

/// The first instructions of the code, without the landing pad. Words beyond the code's end are 0.
struct Words {
  Words(std::span<const std::byte> code, std::uintptr_t address) noexcept {
    std::size_t skipped = 0;
    const auto at = [&](std::size_t index) {
      const std::size_t offset = (index + skipped) * kInstructionBytes;
      if (code.size() < offset + kInstructionBytes) return Instruction{};
      return decode_instruction(code.subspan(offset), address + offset);
    };
    if (at(0).form == Form::kLandingPad) skipped = 1;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = at(i);
  }
  [[nodiscard]] const Instruction& operator[](std::size_t index) const noexcept {
    return words[index];
  }
  std::array<Instruction, 5> words;
};

/// The fields of the instructions ldr x, [x, #offset] and add x, x, #offset.
struct OffsetForm {
  explicit constexpr OffsetForm(std::uint32_t word) noexcept
      : to(word & 31), base(word >> 5 & 31), offset(word >> 10 & 0xFFF) {}
  std::uint32_t to;
  std::uint32_t base;
  std::uint32_t offset;
};

constexpr bool is_load(std::uint32_t word) noexcept { return (word & 0xFFC00000) == 0xF9400000; }
constexpr bool is_addition(std::uint32_t word) noexcept {
  return (word & 0xFFC00000) == 0x91000000;
}
constexpr bool is_jump_to(std::uint32_t word, std::uint32_t number) noexcept {
  return word == (0xD61F0000 | number << 5);
}

/// Matches the sequence adrp, then ldr or add, then br. The sequence may also contain an addition
/// to the base (for lazy binding) and a pointer authentication.
inline std::optional<ThunkDestination> page_destination(const Words& words) noexcept {
  constexpr std::uint32_t kAuthenticates = 0xD503219F;
  const OffsetForm form(words[1].word);
  const bool loads = is_load(words[1].word);
  const bool has_base = form.base == (words[0].word & 31);
  if (!has_base || (!loads && !is_addition(words[1].word))) return std::nullopt;
  std::size_t next = 2;
  const OffsetForm addition(words[next].word);
  const bool adds_to_base = is_addition(words[next].word) && addition.to == form.base;
  if (loads && adds_to_base && form.to != form.base) ++next;
  if (words[next].word == kAuthenticates) ++next;
  if (!is_jump_to(words[next].word, form.to)) return std::nullopt;
  const std::uintptr_t page = words[0].target;
  if (loads) return ThunkDestination{.pointer = page + std::uintptr_t{form.offset} * 8};
  return ThunkDestination{.address = page + form.offset};
}

}  // namespace thunks

/// Returns the destination of `code` at `address` if it is a thunk. Otherwise returns nullopt. A
/// thunk has an optional bti, followed by one of three forms. They are: b; ldr of a literal and br;
/// adrp, then ldr or add, then br (PLT entries and linker veneers).
inline std::optional<ThunkDestination> thunk_destination(std::span<const std::byte> code,
                                                         std::uintptr_t address) noexcept {
  const thunks::Words words(code, address);
  const Instruction& first = words[0];
  if (first.form == Form::kJump) return ThunkDestination{.address = first.target};
  if (first.form == Form::kPageAddress) return thunks::page_destination(words);
  const bool loads_word = (first.word & 0xFF000000) == 0x58000000;
  if (loads_word && thunks::is_jump_to(words[1].word, first.word & 31)) {
    return ThunkDestination{.pointer = first.target};
  }
  return std::nullopt;
}

/// Returns whether `code` is a lazy binding stub: an optional bti, then stp x16, x30, [sp, #-16]!.
/// No compiler generates a function that begins with this store.
inline bool is_binding_stub(std::span<const std::byte> code) noexcept {
  constexpr std::uint32_t kStore = 0xA9BF7BF0;
  return thunks::Words(code, 0)[0].word == kStore;
}

/// Calls `visit(place)` for addresses within 128 MiB of `start` until `visit` returns true. Returns
/// false if `visit` never does. Visits one address per 16 KiB: first those below the function,
/// because the heap may grow above it, then those above. In both ranges, the nearest come first.
template <class Visit>
bool visit_island_places(std::uintptr_t start, Visit&& visit) noexcept {
  constexpr std::uintptr_t kStep = std::uintptr_t{1} << 14;
  constexpr std::uintptr_t kReach = std::uintptr_t{1} << 27;
  const std::uintptr_t base = start & ~(kStep - 1);
  for (std::uintptr_t distance = kStep; distance < kReach && distance < base; distance += kStep) {
    if (visit(base - distance)) return true;
  }
  for (std::uintptr_t distance = kStep; distance < kReach; distance += kStep) {
    if (visit(base + distance)) return true;
  }
  return false;
}

/// A planned or applied patch: one branch at the function's entry. Trivially copyable.
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

  /// Calls `visit(address)` for candidate island addresses until `visit` returns true.
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
    // includes, is still unchanged since the entry.
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

  /// Returns whether the function has the patched bytes or, if `patched` is false, the original
  /// bytes. Precondition: the function's memory is readable.
  [[nodiscard]] bool is_in_state(bool patched) const noexcept {
    std::uint32_t now = 0;
    std::memcpy(&now, reinterpret_cast<const void*>(start()), sizeof now);
    return now == (patched ? patched_ : original());
  }

  /// Switches the function to the state `patched`, while other threads may run it. Precondition:
  /// the function's page is writable and executable. If `synchronize` does not work, other threads
  /// see the change later.
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
