/// ELF relocation types that store a symbol's address, and the detection of lazy binding stubs.
///
/// Numbers: System V ABI, AMD64 supplement, table 4.9; "ELF for the Arm 64-bit Architecture",
/// section 5.7. Stubs: as GNU ld, lld and mold emit them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace alloctap::arch {

struct RelocationKinds {
#if defined(__x86_64__)
  static constexpr std::uint32_t kAbsolute = 1;
  static constexpr std::uint32_t kGlobalData = 6;
  static constexpr std::uint32_t kJumpSlot = 7;

  /// Returns whether `code` is the PLT's lazy binding stub of jump slot `number`: an optional
  /// endbr64, then a push of the number. Also accepts mold's stub that all slots share: the stub
  /// gets the number in r11, and pushes r11 and a word of the GOT.
  static bool is_lazy_stub(std::span<const std::byte> code, std::uint32_t number) noexcept {
    constexpr unsigned char kEndBranch[] = {0xF3, 0x0F, 0x1E, 0xFA};
    constexpr unsigned char kPush = 0x68;
    constexpr unsigned char kSharedStub[] = {0x41, 0x53, 0xFF, 0x35};
    const bool marked = code.size() > sizeof kEndBranch &&
                        std::memcmp(code.data(), kEndBranch, sizeof kEndBranch) == 0;
    if (marked) code = code.subspan(sizeof kEndBranch);
    if (code.size() >= sizeof kSharedStub &&
        std::memcmp(code.data(), kSharedStub, sizeof kSharedStub) == 0) {
      return true;
    }
    if (code.size() < 1 + sizeof number || code[0] != std::byte{kPush}) return false;
    return std::memcmp(code.data() + 1, &number, sizeof number) == 0;
  }
#elif defined(__aarch64__)
  static constexpr std::uint32_t kAbsolute = 257;
  static constexpr std::uint32_t kGlobalData = 1025;
  static constexpr std::uint32_t kJumpSlot = 1026;

  /// Returns whether `code` is the lazy binding stub that all slots share. The stub gets the slot's
  /// address in x16. The stub begins with an optional bti c, then stp x16, x30, [sp, #-16]!.
  static bool is_lazy_stub(std::span<const std::byte> code, std::uint32_t) noexcept {
    constexpr std::uint32_t kBranchTarget = 0xD503245F;
    constexpr std::uint32_t kSave = 0xA9BF7BF0;
    std::uint32_t word = 0;
    if (code.size() < 2 * sizeof word) return false;
    std::memcpy(&word, code.data(), sizeof word);
    if (word == kBranchTarget) std::memcpy(&word, code.data() + sizeof word, sizeof word);
    return word == kSave;
  }
#else
#error "alloctap/arch/relocation_kinds.hpp does not know this architecture"
#endif
};

}  // namespace alloctap::arch
