/// Unwind tables made by hand, right or wrong, in front of a page that nobody may read.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "alloctap/elf/unwind_tables.hpp"

namespace alloctap::testing {

/// Bytes that end where readable memory ends.
class GuardedBytes {
 public:
  explicit GuardedBytes(const std::vector<std::byte>& bytes) : bytes_(bytes.size()) {
    mapped_ = (bytes_ / kPage + 1) * kPage;
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_ + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED || mprotect(pages_, mapped_, PROT_READ | PROT_WRITE) != 0) {
      std::abort();
    }
    if (bytes_ != 0) std::memcpy(data(), bytes.data(), bytes_);
  }
  ~GuardedBytes() { munmap(pages_, mapped_ + kPage); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  [[nodiscard]] std::byte* data() const { return pages_ + mapped_ - bytes_; }
  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(data()); }
  [[nodiscard]] std::span<const std::byte> span() const { return {data(), bytes_}; }
  /// All of it as tables whose header is `header` bytes behind the start.
  [[nodiscard]] elf::UnwindTables tables(std::size_t header = 0) const {
    return {address() + header, address(), address() + bytes_};
  }

 private:
  static constexpr std::size_t kPage = 4096;

  std::size_t bytes_;
  std::size_t mapped_ = 0;
  std::byte* pages_ = nullptr;
};

/// Writes numbers as tables have them.
class ByteWriter {
 public:
  template <class Number>
  ByteWriter& put(Number number) {
    const auto* first = reinterpret_cast<const std::byte*>(&number);
    bytes_.insert(bytes_.end(), first, first + sizeof number);
    return *this;
  }
  ByteWriter& u8(unsigned number) { return put(static_cast<std::uint8_t>(number)); }
  ByteWriter& u16(unsigned number) { return put(static_cast<std::uint16_t>(number)); }
  ByteWriter& u32(std::size_t number) { return put(static_cast<std::uint32_t>(number)); }
  ByteWriter& u64(std::uint64_t number) { return put(number); }
  ByteWriter& uleb(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) u8(static_cast<unsigned>(number & 0x7F) | 0x80U);
    return u8(static_cast<unsigned>(number));
  }
  ByteWriter& sleb(std::int64_t number) {
    for (; number < -0x40 || number >= 0x40; number >>= 7) {
      u8(static_cast<unsigned>(number & 0x7F) | 0x80U);
    }
    return u8(static_cast<unsigned>(number & 0x7F));
  }
  ByteWriter& text(std::string_view text) {
    for (const char c : text) u8(static_cast<unsigned char>(c));
    return u8(0);
  }
  ByteWriter& append(const std::vector<std::byte>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// A number of bytes in front of them.
  ByteWriter& block(const std::vector<std::byte>& bytes) {
    return uleb(bytes.size()).append(bytes);
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  std::byte& operator[](std::size_t i) { return bytes_[i]; }

 private:
  std::vector<std::byte> bytes_;
};

/// Opcodes or anything else, a byte each.
inline std::vector<std::byte> raw(std::initializer_list<unsigned> values) {
  ByteWriter writer;
  for (const unsigned value : values) writer.u8(value);
  return writer.bytes();
}

/// What a CIE says; as compilers for x86-64 write it unless changed.
struct CieFields {
  unsigned version = 1;
  std::string_view augmentation = "zR";
  /// Behind the length of the augmentation data: the pointer encoding, pcrel | sdata4.
  std::vector<std::byte> data = raw({0x1B});
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = -8;
  unsigned return_address_register = 16;
  /// DW_CFA_def_cfa rsp + 8, DW_CFA_offset r16 at cfa - 8.
  std::vector<std::byte> instructions = raw({0x0C, 7, 8, 0x90, 1});
};

/// Makes .eh_frame and, behind it, .eh_frame_hdr. The code lies `kCode` bytes behind their start,
/// where no memory needs to be.
class EhFrameWriter {
 public:
  static constexpr std::size_t kCode = 0x100000;

  /// Returns where the entry begins.
  std::size_t add_cie(const CieFields& cie = {}) {
    ByteWriter contents;
    contents.u32(0).u8(cie.version).text(cie.augmentation);
    if (cie.version == 4) contents.u8(8).u8(0);
    contents.uleb(cie.code_alignment).sleb(cie.data_alignment).u8(cie.return_address_register);
    if (cie.augmentation.starts_with('z')) contents.block(cie.data);
    contents.append(cie.instructions);
    return add_entry(contents);
  }

  /// For the code `[begin, begin + bytes)` behind `kCode`.
  std::size_t add_fde(std::size_t cie, std::size_t begin, std::size_t bytes,
                      const std::vector<std::byte>& instructions = {}) {
    const std::size_t id = eh_frame_.size() + 4;
    ByteWriter contents;
    contents.u32(id - cie).u32(kCode + begin - (id + 4)).u32(bytes).uleb(0).append(instructions);
    rows_.push_back({kCode + begin, eh_frame_.size()});
    return add_entry(contents);
  }

  std::size_t add_entry(const ByteWriter& contents) {
    const std::size_t place = eh_frame_.size();
    eh_frame_.u32(contents.size()).append(contents.bytes());
    return place;
  }

  ByteWriter& eh_frame() { return eh_frame_; }
  /// Where the header will be.
  [[nodiscard]] std::size_t header() const { return eh_frame_.size() + 4; }

  /// The rows are in the order in which the descriptions were added.
  [[nodiscard]] std::vector<std::byte> finish(bool with_table = true) const {
    ByteWriter image = eh_frame_;
    image.u32(0);
    image.u8(1).u8(0x1B).u8(with_table ? 0x03 : 0xFF).u8(with_table ? 0x3B : 0xFF);
    image.u32(0 - image.size());
    if (!with_table) return image.bytes();
    image.u32(rows_.size());
    for (const Row& row : rows_) image.u32(row.code - header()).u32(row.description - header());
    return image.bytes();
  }

 private:
  struct Row {
    std::size_t code;
    std::size_t description;
  };

  ByteWriter eh_frame_;
  std::vector<Row> rows_;
};

}  // namespace alloctap::testing
