/// A module's file, mapped as the loader maps it, and never run.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "alloctap/elf/find_row.hpp"

namespace alloctap::testing {

/// Readable from its construction on. What the file would have the loader change, such as
/// relocations, is as in the file: unwind tables need none.
class MappedModule {
 public:
  explicit MappedModule(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return;
    file_bytes_ = static_cast<std::size_t>(status.st_size);
    file_ = ::mmap(nullptr, file_bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (file_ != MAP_FAILED) map_segments(descriptor);
    ::close(descriptor);
  }
  ~MappedModule() {
    if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
    if (file_ != MAP_FAILED) ::munmap(file_, file_bytes_);
  }
  MappedModule(const MappedModule&) = delete;
  MappedModule& operator=(const MappedModule&) = delete;

  /// What an address in the file is less than the same one here.
  [[nodiscard]] std::uintptr_t bias() const { return bias_; }

  [[nodiscard]] std::optional<elf::UnwindTables> tables() const {
    if (reserved_ == nullptr) return std::nullopt;
    return elf::unwind_tables_of_image(file(), bias_ + first_address_);
  }

 private:
  static constexpr std::uintptr_t kPageMask = 4095;

  [[nodiscard]] std::span<const std::byte> file() const {
    return {static_cast<const std::byte*>(file_), file_bytes_};
  }

  void map_segments(int descriptor) {
    const auto segments = elf::find_segments(file());
    std::uintptr_t low = UINTPTR_MAX;
    std::uintptr_t high = 0;
    for (const auto& segment : segments) {
      if (segment.p_type != PT_LOAD) continue;
      low = std::min<std::uintptr_t>(low, segment.p_vaddr & ~kPageMask);
      high = std::max<std::uintptr_t>(high, segment.p_vaddr + segment.p_memsz);
    }
    if (high == 0 || !reserve(low, high - low)) return;
    for (const auto& segment : segments) {
      if (segment.p_type == PT_LOAD && segment.p_filesz != 0) map_segment(segment, descriptor);
    }
  }

  /// Where the file wants to be, if it does.
  bool reserve(std::uintptr_t low, std::size_t bytes) {
    const int fixed = low != 0 ? MAP_FIXED_NOREPLACE : 0;
    void* place = ::mmap(reinterpret_cast<void*>(low), bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (place == MAP_FAILED) return false;
    reserved_ = place;
    reserved_bytes_ = bytes;
    first_address_ = low;
    bias_ = reinterpret_cast<std::uintptr_t>(place) - low;
    return true;
  }

  void map_segment(const ElfW(Phdr) & segment, int descriptor) const {
    const std::uintptr_t lead = segment.p_vaddr & kPageMask;
    ::mmap(reinterpret_cast<void*>(bias_ + segment.p_vaddr - lead), segment.p_filesz + lead,
           PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor,
           static_cast<off_t>(segment.p_offset - lead));
  }

  void* file_ = MAP_FAILED;
  std::size_t file_bytes_ = 0;
  void* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  std::uintptr_t first_address_ = 0;
  std::uintptr_t bias_ = 0;
};

}  // namespace alloctap::testing
