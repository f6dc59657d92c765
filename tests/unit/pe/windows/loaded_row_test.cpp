#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/pe/unwind_info.hpp"

namespace {

using namespace alloctap;

/// What the system finds by unwinding one frame whose registers are known.
struct Unwound {
  std::uintptr_t sp = 0;
  std::uintptr_t pc = 0;
  std::uintptr_t fp = 0;
};

/// A stack in which each word tells its place.
struct NumberedStack {
  static constexpr std::size_t kWords = 0x2000;
  NumberedStack() {
    for (std::size_t i = 0; i < kWords; ++i) words[i] = 0x1000 + i;
  }
  [[nodiscard]] std::uintptr_t middle() const {
    return reinterpret_cast<std::uintptr_t>(&words[kWords / 2]);
  }
  std::uintptr_t words[kWords];
};

std::uintptr_t load(std::uintptr_t address) {
  return *reinterpret_cast<const std::uintptr_t*>(address);
}

Unwound by_system(std::uintptr_t pc, const NumberedStack& stack) {
  CONTEXT context{};
  context.Rip = pc;
  context.Rsp = stack.middle();
  context.Rbp = stack.middle() + 64;
  DWORD64 base = 0;
  auto* entry = ::RtlLookupFunctionEntry(pc, &base, nullptr);
  void* handler_data = nullptr;
  DWORD64 frame = 0;
  ::RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, pc, entry, &context, &handler_data, &frame, nullptr);
  return {context.Rsp, context.Rip, context.Rbp};
}

/// Without a pc where the row asks for another register.
Unwound by_row(const elf::CallFrameRow& row, const NumberedStack& stack) {
  using Registers = arch::DwarfRegisters;
  const std::uintptr_t fp = stack.middle() + 64;
  const bool from_fp = row.cfa.register_number == Registers::kFramePointer;
  if (!from_fp && row.cfa.register_number != Registers::kStackPointer) return {};
  const std::uintptr_t cfa =
      (from_fp ? fp : stack.middle()) + static_cast<std::uintptr_t>(row.cfa.value);
  const elf::RegisterRule& saved = row.registers[Registers::kFramePointer];
  const bool is_saved = saved.kind == elf::RegisterRule::Kind::kAtCfaPlus;
  return {.sp = cfa,
          .pc = load(cfa - 8),
          .fp = is_saved ? load(cfa + static_cast<std::uintptr_t>(saved.value)) : fp};
}

/// Whether the code at `pc` pops, returns or adds to the stack pointer. The system then follows the
/// epilogue, which asks the stack pointer alone, and the registers made up here contradict each
/// other.
bool is_epilogue(std::uintptr_t pc) {
  const auto* const code = reinterpret_cast<const std::uint8_t*>(pc);
  const bool adds = code[0] == 0x48 && (code[1] == 0x81 || code[1] == 0x83) && code[2] == 0xC4;
  return adds || (code[0] >= 0x58 && code[0] <= 0x5F) || code[0] == 0xC3;
}

/// Behind the prologue.
bool rows_agree(std::uintptr_t module, const pe::FunctionEntry& entry, const NumberedStack& stack,
                std::size_t& compared) {
  const auto prologue = *reinterpret_cast<const std::uint8_t*>(module + entry.unwind_info + 1);
  const std::uintptr_t pc = module + entry.begin + prologue;
  elf::CallFrameRow row;
  if (pc >= module + entry.end || is_epilogue(pc) || !pe::find_loaded_row(pc, row)) return true;
  const Unwound mine = by_row(row, stack);
  // Frames larger than the stack made here are not compared.
  constexpr std::int64_t kFits = NumberedStack::kWords / 4 * 8;
  if (mine.pc == 0 || row.cfa.value > kFits) return true;
  const Unwound theirs = by_system(pc, stack);
  ++compared;
  return mine.sp == theirs.sp && mine.pc == theirs.pc && mine.fp == theirs.fp;
}

}  // namespace

TEST_CASE("rows of this program and of system libraries say what the system's unwinder does") {
  static const NumberedStack stack;
  for (const wchar_t* name :
       {static_cast<const wchar_t*>(nullptr), L"ntdll.dll", L"kernelbase.dll", L"msvcrt.dll"}) {
    const auto module = reinterpret_cast<std::uintptr_t>(::GetModuleHandleW(name));
    const os::LoadedModule found = os::find_module(module);
    const std::span image(reinterpret_cast<const std::byte*>(module), found.end - module);
    std::size_t compared = 0;
    std::size_t wrong = 0;
    for (const pe::FunctionEntry& entry : pe::find_functions(image)) {
      wrong += rows_agree(module, entry, stack, compared) ? 0 : 1;
    }
    CAPTURE(compared);
    CHECK(wrong == 0);
    CHECK(compared > 500);
  }
}

TEST_CASE("memory that is no module's has no row") {
  int local = 0;
  elf::CallFrameRow row;
  CHECK_FALSE(pe::find_loaded_row(reinterpret_cast<std::uintptr_t>(&local), row));
  CHECK_FALSE(pe::find_loaded_row(0, row));
}
