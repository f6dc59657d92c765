/// Little ELF files, right or wrong, between two pages that nobody may read.
#pragma once

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace alloctap::testing {

using Bytes = std::vector<std::byte>;

/// A note as files have it, padded to 4 bytes. `name` with its '\0', if it has one.
inline Bytes note(std::string_view name, std::uint32_t type, std::string_view description) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  const ElfW(Nhdr) header{.n_namesz = static_cast<std::uint32_t>(name.size()),
                          .n_descsz = static_cast<std::uint32_t>(description.size()),
                          .n_type = type};
  Bytes bytes(sizeof header + padded(name.size()) + padded(description.size()));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, name.data(), name.size());
  std::memcpy(bytes.data() + sizeof header + padded(name.size()), description.data(),
              description.size());
  return bytes;
}

inline constexpr std::string_view kGnu{"GNU", 4};

/// One page that holds a file; the test changes what it wants through `header` and `segments`.
class ElfImage {
 public:
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kNotesAt = 1024;
  /// Where the file wants its first byte to lie, and how far it reaches from there.
  static constexpr std::uintptr_t kFirstAddress = 0x40000;
  static constexpr std::uintptr_t kReach = 0x9000;

  explicit ElfImage(const Bytes& notes = note(kGnu, NT_GNU_BUILD_ID, "0123456789abcdefghij")) {
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, 3 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED || mprotect(data(), kBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
    std::memcpy(header().e_ident, ELFMAG, SELFMAG);
    header().e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    header().e_phoff = sizeof(ElfW(Ehdr));
    header().e_phentsize = sizeof(ElfW(Phdr));
    header().e_phnum = 3;
    segment(0) = {.p_type = PT_NOTE,
                  .p_flags = PF_R,
                  .p_offset = kNotesAt,
                  .p_vaddr = kFirstAddress + kNotesAt,
                  .p_paddr = 0,
                  .p_filesz = notes.size(),
                  .p_memsz = notes.size(),
                  .p_align = 4};
    segment(1) = load(0, kFirstAddress, kBytes);
    segment(2) = load(0x2000, kFirstAddress + 0x6000, 0x3000);
    std::memcpy(data() + kNotesAt, notes.data(), notes.size());
  }
  ~ElfImage() { munmap(pages_, 3 * kBytes); }
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  [[nodiscard]] std::byte* data() { return pages_ + kBytes; }
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t count = kBytes) {
    return {data(), count};
  }
  [[nodiscard]] std::uintptr_t address() { return reinterpret_cast<std::uintptr_t>(data()); }
  [[nodiscard]] ElfW(Ehdr) & header() { return *reinterpret_cast<ElfW(Ehdr)*>(data()); }
  [[nodiscard]] ElfW(Phdr) & segment(std::size_t i) {
    return reinterpret_cast<ElfW(Phdr)*>(data() + sizeof(ElfW(Ehdr)))[i];
  }

 private:
  static ElfW(Phdr) load(std::uintptr_t offset, std::uintptr_t address, std::size_t bytes) {
    return {.p_type = PT_LOAD,
            .p_flags = PF_R,
            .p_offset = offset,
            .p_vaddr = address,
            .p_paddr = 0,
            .p_filesz = bytes,
            .p_memsz = bytes,
            .p_align = kBytes};
  }

  std::byte* pages_;
};

}  // namespace alloctap::testing
