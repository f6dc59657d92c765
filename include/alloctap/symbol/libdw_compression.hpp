/// Detects debug information compressed by a method that libdw cannot read.
#pragma once

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libelf.h>

#include <array>
#include <memory>
#include <string_view>

#include "alloctap/os/file.hpp"
#include "alloctap/symbol/bounded_text.hpp"

namespace alloctap::libdw {

/// Returns whether debug sections of `elf` are compressed with zstd. elfutils reads zstd from 0.189
/// on, if built with zstd.
[[nodiscard]] inline bool is_zstd_compressed(Elf* elf) {
  // ELFCOMPRESS_ZSTD, which older headers lack.
  constexpr auto kZstd = 2;
  for (Elf_Scn* section = ::elf_nextscn(elf, nullptr); section != nullptr;
       section = ::elf_nextscn(elf, section)) {
    GElf_Chdr compression;
    if (::gelf_getchdr(section, &compression) != nullptr && compression.ch_type == kZstd) {
      return true;
    }
  }
  return false;
}

[[nodiscard]] inline bool is_zstd_compressed(const char* path) {
  int error = 0;
  const os::File file = os::open_for_reading(path, error);
  const auto end = [](Elf* elf) { ::elf_end(elf); };
  const std::unique_ptr<Elf, decltype(end)> elf(
      ::elf_begin(file.descriptor(), ELF_C_READ_MMAP, nullptr), end);
  return elf != nullptr && is_zstd_compressed(elf.get());
}

/// A hint for reports about the first file whose debug information could not be read. Not
/// thread-safe, because symbolizers are not.
class UnreadableDebugInformation {
 public:
  /// Remembers `path` if the debug information of `module` is unreadable because of zstd.
  static void look_for(Dwfl_Module* module, std::string_view path) {
    Dwarf_Addr bias = 0;
    if (!text().empty() || ::dwfl_module_getdwarf(module, &bias) != nullptr) return;
    const char* debug_file = nullptr;
    ::dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &debug_file);
    Elf* const elf = ::dwfl_module_getelf(module, &bias);
    if ((elf != nullptr && is_zstd_compressed(elf)) ||
        (debug_file != nullptr && is_zstd_compressed(debug_file))) {
      write(debug_file == nullptr ? path : std::string_view(debug_file));
    }
  }

  /// Returns the hint, or an empty string.
  [[nodiscard]] static std::string_view text() noexcept { return {buffer_.data(), length_}; }

 private:
  static void write(std::string_view path) noexcept {
    BoundedText out(buffer_);
    out.append(
        "no files and lines where debug information is compressed by zstd, which this libdw cannot "
        "read; objcopy --compress-debug-sections=zlib FILE mends it; one such file is ");
    out.append(path);
    length_ = out.text().size();
  }

  static inline constinit std::array<char, 1024> buffer_{};
  static inline constinit std::size_t length_ = 0;
};

}  // namespace alloctap::libdw
