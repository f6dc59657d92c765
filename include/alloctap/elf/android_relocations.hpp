/// A decoder of Android's packed relocation tables (APS2).
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "alloctap/elf/byte_reader.hpp"

namespace alloctap::elf {

/// Dynamic section tags with the address and size of APS2 tables
/// (llvm/BinaryFormat/DynamicTags.def).
struct AndroidTags {
  static constexpr ElfW(Sxword) kRel = 0x6000000f;
  static constexpr ElfW(Sxword) kRelBytes = 0x60000010;
  static constexpr ElfW(Sxword) kRela = 0x60000011;
  static constexpr ElfW(Sxword) kRelaBytes = 0x60000012;
};

/// A decoder of one APS2 table, as `ld.lld --pack-dyn-relocs=android` writes and bionic loads it.
/// See bionic, linker/linker_reloc_iterators.h; lld, ELF/SyntheticSections.cpp,
/// AndroidPackedRelocationSection. After the letters "APS2", the table consists of signed LEB128
/// numbers. The first two are the number of relocations and the initial offset. Groups of
/// relocations follow. A group begins with a relocation count, and flags for the fields that all
/// relocations in the group share. Offsets and addends are deltas from the previous relocation.
template <class Visit>
class AndroidRelocationWalk {
 public:
  AndroidRelocationWalk(std::span<const std::byte> table, std::uint64_t most, Visit& visit) noexcept
      : reader_(table), left_(most), visit_(visit) {}

  void run() noexcept {
    static constexpr char kMagic[] = {'A', 'P', 'S', '2'};
    const auto magic = reader_.read_bytes(sizeof kMagic);
    if (magic.empty() || std::memcmp(magic.data(), kMagic, sizeof kMagic) != 0) return;
    const std::uint64_t count = read();
    if (count > left_) return;
    left_ = count;
    now_.r_offset = read();
    while (left_ > 0 && read_group()) {
    }
  }

 private:
  enum Flags : std::uint64_t { kSameInfo = 1, kSameDelta = 2, kSameAddend = 4, kHasAddend = 8 };

  /// Returns false if the table is malformed.
  bool read_group() noexcept {
    const std::uint64_t size = read();
    flags_ = read();
    if ((flags_ & kSameDelta) != 0) delta_ = read();
    if ((flags_ & kSameInfo) != 0) now_.r_info = read();
    if ((flags_ & kHasAddend) == 0) {
      now_.r_addend = 0;
    } else if ((flags_ & kSameAddend) != 0) {
      add_to_addend(read());
    }
    if (!reader_.ok() || size == 0 || size > left_) return false;
    left_ -= size;
    for (std::uint64_t i = 0; i < size; ++i) {
      if (!read_relocation()) return false;
    }
    return true;
  }

  bool read_relocation() noexcept {
    now_.r_offset += (flags_ & kSameDelta) != 0 ? delta_ : read();
    if ((flags_ & kSameInfo) == 0) now_.r_info = read();
    if ((flags_ & (kHasAddend | kSameAddend)) == kHasAddend) add_to_addend(read());
    if (reader_.ok()) visit_(now_);
    return reader_.ok();
  }

  std::uint64_t read() noexcept { return static_cast<std::uint64_t>(reader_.read_sleb128()); }

  /// Adds modulo 2^64, as bionic's linker does.
  void add_to_addend(std::uint64_t difference) noexcept {
    now_.r_addend = static_cast<decltype(now_.r_addend)>(static_cast<std::uint64_t>(now_.r_addend) +
                                                         difference);
  }

  ByteReader reader_;
  std::uint64_t left_;
  Visit& visit_;
  std::uint64_t flags_ = 0;
  std::uint64_t delta_ = 0;
  ElfW(Rela) now_ {};
};

/// Calls `visit(const ElfW(Rela)&)` for each relocation of `table`, up to the first error. Makes no
/// call if the table claims more than `most` relocations, because a malformed table can claim any
/// number. REL tables have no addends. Reads only inside `table`. Runs inside malloc.
template <class Visit>
void for_each_android_relocation(std::span<const std::byte> table, std::uint64_t most,
                                 Visit&& visit) noexcept {
  AndroidRelocationWalk<std::remove_reference_t<Visit>>(table, most, visit).run();
}

}  // namespace alloctap::elf
