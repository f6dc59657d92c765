#include "launcher/elf_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace alloctap::run {
namespace {

constexpr unsigned char kOwnOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

/// The string that begins at `offset`; empty beyond the end.
std::string_view string_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

/// The contents of the regular file at `path`; empty if it cannot be read.
std::string_view map_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  void* memory = MAP_FAILED;
  if (file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    memory =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  }
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) return {};
  return {static_cast<const char*>(memory), static_cast<std::size_t>(status.st_size)};
}

std::uint64_t offset_of(std::uint64_t address, std::span<const Elf64_Phdr> segments) {
  for (const Elf64_Phdr& segment : segments) {
    const std::uint64_t inside = address - segment.p_vaddr;
    if (segment.p_type == PT_LOAD && inside < segment.p_filesz) return segment.p_offset + inside;
  }
  return UINT64_MAX;
}

std::uint64_t value_of(Elf64_Sxword tag, std::span<const Elf64_Dyn> entries) {
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return 0;
}

}  // namespace

ElfFile::ElfFile(const std::string& path) : bytes_(map_file(path)) {
  is_native_ = read(std::span(&header_, 1), 0) &&
               std::equal(header_.e_ident, header_.e_ident + SELFMAG, ELFMAG) &&
               header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == kOwnOrder;
}

ElfFile::~ElfFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

bool ElfFile::read_segments(std::vector<Elf64_Phdr>& segments) const {
  if (header_.e_phentsize != sizeof(Elf64_Phdr)) return false;
  segments.resize(header_.e_phnum);
  return read(std::span(segments), header_.e_phoff);
}

NeededNames ElfFile::needed() const {
  std::vector<Elf64_Phdr> segments;
  if (!is_native_ || !read_segments(segments)) return {};
  const auto dynamic =
      std::find_if(segments.begin(), segments.end(),
                   [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == segments.end() || dynamic->p_filesz > bytes_.size()) return {};
  std::vector<Elf64_Dyn> entries(dynamic->p_filesz / sizeof(Elf64_Dyn));
  if (!read(std::span(entries), dynamic->p_offset)) return {};
  const std::string_view strings =
      bytes_at(offset_of(value_of(DT_STRTAB, entries), segments), value_of(DT_STRSZ, entries));
  NeededNames needed;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    const std::string_view text = string_at(strings, entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) needed.names.emplace_back(text);
    const bool is_fallback = entry.d_tag == DT_RPATH && needed.run_path.empty();
    if (entry.d_tag == DT_RUNPATH || is_fallback) needed.run_path = text;
  }
  return needed;
}

std::vector<std::string_view> ElfFile::defined_symbols(
    std::uint32_t type, std::span<const std::string_view> names) const {
  if (!is_native_ || header_.e_shentsize != sizeof(Elf64_Shdr)) return {};
  std::vector<Elf64_Shdr> sections(header_.e_shnum);
  if (!read(std::span(sections), header_.e_shoff)) return {};
  const auto table = std::find_if(sections.begin(), sections.end(), [&](const Elf64_Shdr& section) {
    return section.sh_type == type;
  });
  if (table == sections.end() || table->sh_link >= sections.size()) return {};
  const Elf64_Shdr& texts = sections[table->sh_link];
  const std::string_view strings = bytes_at(texts.sh_offset, texts.sh_size);
  std::vector<std::string_view> found;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol{};
    if (!read(std::span(&symbol, 1), table->sh_offset + at)) break;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const auto name = std::find(names.begin(), names.end(), string_at(strings, symbol.st_name));
    if (name != names.end()) found.push_back(*name);
  }
  return found;
}

}  // namespace alloctap::run
