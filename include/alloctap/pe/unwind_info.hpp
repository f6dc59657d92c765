/// A decoder of PE unwind information to DWARF-style rows, and the look-up of rows in .pdata.
///
/// Sources: "x64 exception handling" (Microsoft), "Struct UNWIND_INFO" and "Unwind procedure".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/elf/call_frame.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/pe/mapped_image.hpp"

namespace alloctap::pe {

/// An entry of .pdata; all members are offsets in the module.
struct FunctionEntry {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t unwind_info = 0;
};

/// A 2-byte slot that encodes one prologue operation. Large operands are in the slots that follow.
struct UnwindCode {
  std::uint8_t offset = 0;
  std::uint8_t operation = 0;
  std::uint8_t detail = 0;
};

/// An interpreter that undoes a prologue's operations and records the addresses of saved registers.
///
/// Offsets are relative to a base register that the function body does not change: the stack
/// pointer, or the frame pointer once the prologue has set it.
class PrologueReader {
 public:
  explicit PrologueReader(std::span<const std::byte> image) noexcept : image_(image) {}

  /// Writes to `row` the row at `pc`, an offset in the module that is inside `function`. Returns
  /// false if the format of the unwind information is unknown, or if the function has a machine
  /// frame, which an interrupt pushed.
  [[nodiscard]] bool read(const FunctionEntry& function, std::uint32_t pc,
                          elf::CallFrameRow& row) noexcept {
    row = {};
    row_ = &row;
    executed_ = pc - function.begin;
    FunctionEntry part = function;
    constexpr int kMaxParts = 32;
    for (int i = 0; i < kMaxParts; ++i) {
      const auto parent = read_part(part.unwind_info);
      if (failed_) return false;
      if (!parent) return finish();
      // The prologues of the .pdata entries to which this part is chained were executed completely.
      part = *parent;
      executed_ = kWhole;
    }
    return false;
  }

 private:
  static constexpr std::int64_t kWord = sizeof(std::uintptr_t);
  static constexpr std::uint32_t kWhole = 0xFFFFFFFF;

  enum Operation : std::uint8_t {
    kPushRegister,
    kAllocateLarge,
    kAllocateSmall,
    kSetFramePointer,
    kSaveRegister,
    kSaveRegisterFar,
    kEpilogue,
    kSpare,
    kSaveVector,
    kSaveVectorFar,
    kPushMachineFrame,
  };

  struct Header {
    std::uint8_t version_and_flags;
    std::uint8_t prologue_bytes;
    std::uint8_t slots;
    std::uint8_t frame_pointer;
  };

  template <class T>
  T load(std::size_t offset) noexcept {
    T value{};
    const bool inside = offset <= image_.size() && image_.size() - offset >= sizeof value;
    if (inside) std::memcpy(&value, image_.data() + offset, sizeof value);
    failed_ |= !inside;
    return value;
  }

  /// Returns the DWARF number of the register that x86-64 instructions encode as `number`.
  static unsigned dwarf_number(unsigned number) noexcept {
    constexpr unsigned kNumbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
    return number < 8 ? kNumbers[number] : number;
  }

  /// Reads the unwind information at `place`. Returns the chained .pdata entry, or nullopt.
  std::optional<FunctionEntry> read_part(std::size_t place) noexcept {
    const auto header = load<Header>(place);
    const unsigned version = header.version_and_flags & 7U;
    failed_ |= version != 1 && version != 2;
    const std::size_t codes = place + sizeof header;
    find_base(header, codes);
    for (std::size_t slot = 0; slot < header.slots && !failed_;) {
      slot += undo(header, codes + slot * 2);
    }
    if (failed_ || !is_part(header)) return std::nullopt;
    // The chained entry follows the slots, whose number is padded to an even one.
    return load<FunctionEntry>(codes + (header.slots + 1U) / 2 * 4);
  }

  UnwindCode load_code(std::size_t place) noexcept {
    const auto offset = load<std::uint8_t>(place);
    const auto both = load<std::uint8_t>(place + 1);
    return {.offset = offset,
            .operation = static_cast<std::uint8_t>(both & 15U),
            .detail = static_cast<std::uint8_t>(both >> 4)};
  }

  static std::size_t slots_of(const UnwindCode& code) noexcept {
    switch (code.operation) {
      case kAllocateLarge:
        return code.detail == 0 ? 2 : 3;
      case kSaveRegister:
      case kSaveVector:
      case kEpilogue:
        return 2;
      case kSaveRegisterFar:
      case kSaveVectorFar:
      case kSpare:
        return 3;
      default:
        return 1;
    }
  }

  /// Whether the code is a part of a function, whose entry follows (UNW_FLAG_CHAININFO).
  static bool is_part(const Header& header) noexcept {
    return (header.version_and_flags >> 3 & 4U) != 0;
  }

  /// Makes the frame pointer the base register if the prologue sets it before the requested pc. In
  /// a part of a function, the function's own prologue has set it, as RtlVirtualUnwind assumes.
  void find_base(const Header& header, std::size_t codes) noexcept {
    saves_ = depth_;
    if (is_part(header) && (header.frame_pointer & 15U) != 0) return use_frame_pointer(header);
    for (std::size_t slot = 0; slot < header.slots && !failed_;) {
      const UnwindCode code = load_code(codes + slot * 2);
      if (code.operation == kSetFramePointer && code.offset <= executed_) {
        return use_frame_pointer(header);
      }
      slot += slots_of(code);
    }
  }

  void use_frame_pointer(const Header& header) noexcept {
    base_ = dwarf_number(header.frame_pointer & 15U);
    saves_ = -std::int64_t{header.frame_pointer >> 4} * 16;
  }

  /// Undoes the operation at `place` if it was executed. Returns the operation's number of slots.
  std::size_t undo(const Header& header, std::size_t place) noexcept {
    const UnwindCode code = load_code(place);
    const std::size_t slots = slots_of(code);
    if (code.offset > executed_ && code.operation != kEpilogue) return slots;
    switch (code.operation) {
      case kPushRegister:
        note_saved(code.detail, depth_);
        depth_ += kWord;
        break;
      case kAllocateLarge:
        depth_ += code.detail == 0 ? std::int64_t{load<std::uint16_t>(place + 2)} * kWord
                                   : std::int64_t{load<std::uint32_t>(place + 2)};
        break;
      case kAllocateSmall:
        depth_ += (code.detail + 1) * kWord;
        break;
      case kSetFramePointer:
        depth_ = -std::int64_t{header.frame_pointer >> 4} * 16;
        break;
      case kSaveRegister:
        note_saved(code.detail, saves_ + std::int64_t{load<std::uint16_t>(place + 2)} * kWord);
        break;
      case kSaveRegisterFar:
        note_saved(code.detail, saves_ + std::int64_t{load<std::uint32_t>(place + 2)});
        break;
      case kEpilogue:
      case kSpare:
      case kSaveVector:
      case kSaveVectorFar:
        break;
      default:
        failed_ = true;
    }
    return slots;
  }

  /// Records where a register is saved, relative to the base, because the CFA is not known yet.
  void note_saved(unsigned number, std::int64_t place) noexcept {
    elf::RegisterRule& rule = row_->registers[dwarf_number(number)];
    rule = {.kind = elf::RegisterRule::Kind::kAtCfaPlus, .value = place};
  }

  bool finish() noexcept {
    using Registers = arch::DwarfRegisters;
    const std::int64_t cfa = depth_ + kWord;
    for (elf::RegisterRule& rule : row_->registers) {
      if (rule.kind == elf::RegisterRule::Kind::kAtCfaPlus) rule.value -= cfa;
    }
    row_->cfa = {.kind = elf::CfaRule::Kind::kRegisterPlusOffset,
                 .register_number = static_cast<std::uint8_t>(base_),
                 .value = cfa};
    row_->return_address_register = Registers::kReturnAddress;
    row_->registers[Registers::kReturnAddress] = {.kind = elf::RegisterRule::Kind::kAtCfaPlus,
                                                  .value = -kWord};
    return true;
  }

  std::span<const std::byte> image_;
  elf::CallFrameRow* row_ = nullptr;
  /// The offset of the requested pc in the function: operations up to it were executed.
  std::uint32_t executed_ = 0;
  unsigned base_ = arch::DwarfRegisters::kStackPointer;
  /// Offset from the base to the stack contents that are not unwound yet.
  std::int64_t depth_ = 0;
  /// Offset from the base to the address that saved registers' offsets are relative to.
  std::int64_t saves_ = 0;
  bool failed_ = false;
};

/// Returns the .pdata entries of the module mapped as `image`, in ascending order.
inline std::span<const FunctionEntry> find_functions(std::span<const std::byte> image) noexcept {
  constexpr std::size_t kExceptionDirectory = 24 + 112 + 3 * 8;
  const auto headers = find_headers(image);
  if (!headers) return {};
  const auto place = read_number<std::uint32_t>(image, *headers + kExceptionDirectory);
  const auto bytes = read_number<std::uint32_t>(image, *headers + kExceptionDirectory + 4);
  const bool inside = place && bytes && *place % alignof(FunctionEntry) == 0 &&
                      *place <= image.size() && *bytes <= image.size() - *place;
  if (!inside) return {};
  return {reinterpret_cast<const FunctionEntry*>(image.data() + *place),
          *bytes / sizeof(FunctionEntry)};
}

/// Returns the entry that covers `pc`, an offset in the module; nullptr if not found. An entry is
/// for a function or an outlined part of a function.
inline const FunctionEntry* find_function(std::span<const FunctionEntry> functions,
                                          std::uint32_t pc) noexcept {
  const auto above = std::upper_bound(
      functions.begin(), functions.end(), pc,
      [](std::uint32_t place, const FunctionEntry& entry) { return place < entry.begin; });
  if (above == functions.begin() || pc >= (above - 1)->end) return nullptr;
  return &*(above - 1);
}

/// Writes the unwind row at `address` to `row`; returns false if not found. Does not use
/// RtlLookupFunctionEntry, because on some systems that function takes the loader's lock. Under
/// Wine, a walk by RtlLookupFunctionEntry and RtlVirtualUnwind takes three to five times as long
/// (bench/README.md). Does not find code registered with RtlAddFunctionTable. A function without a
/// .pdata entry makes no calls, so no return address is in such a function.
[[nodiscard]] inline bool find_loaded_row(std::uintptr_t address, elf::CallFrameRow& row) noexcept {
  const os::LoadedModule module = os::find_module(address);
  if (module.start == 0) return false;
  const std::span image(reinterpret_cast<const std::byte*>(module.start),
                        module.end - module.start);
  const auto pc = static_cast<std::uint32_t>(address - module.start);
  const FunctionEntry* const function = find_function(find_functions(image), pc);
  if (function == nullptr || !PrologueReader(image).read(*function, pc, row)) return false;
  row.begin = module.start + function->begin;
  row.end = module.start + function->end;
  return true;
}

}  // namespace alloctap::pe
