/// An ELF file of this machine's kind, mapped into memory: programs are large, and little is read.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace alloctap::run {

/// Where its loader finds what a file needs.
struct NeededNames {
  std::vector<std::string> names;
  /// Directories to look in, of DT_RUNPATH or DT_RPATH, with ':' between them.
  std::string run_path;
};

/// Not thread-safe. Everything is empty or false for a file that is missing, damaged or of another
/// class.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// Copies the file's bytes at `offset` to `target`; false where there are not so many.
  template <class T>
  [[nodiscard]] bool read(std::span<T> target, std::uint64_t offset) const {
    const std::string_view bytes = bytes_at(offset, target.size_bytes());
    if (bytes.size() != target.size_bytes()) return false;
    if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
    return true;
  }

  /// Whether its header was read, and is of a 64-bit file of this byte order.
  [[nodiscard]] bool is_native() const noexcept { return is_native_; }
  [[nodiscard]] const Elf64_Ehdr& header() const noexcept { return header_; }

  /// Returns the segments; false if they cannot be read.
  [[nodiscard]] bool read_segments(std::vector<Elf64_Phdr>& segments) const;

  [[nodiscard]] NeededNames needed() const;

  /// Returns which of `names` the file defines in its table of symbols of `type`, SHT_DYNSYM or
  /// SHT_SYMTAB.
  [[nodiscard]] std::vector<std::string_view> defined_symbols(
      std::uint32_t type, std::span<const std::string_view> names) const;

 private:
  /// Empty where there are not so many.
  [[nodiscard]] std::string_view bytes_at(std::uint64_t offset, std::uint64_t size) const noexcept {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
    return bytes_.substr(offset, size);
  }

  std::string_view bytes_;
  bool is_native_ = false;
  Elf64_Ehdr header_{};
};

}  // namespace alloctap::run
