/// The files that are mapped into this process, as the system lists them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "alloctap/os/memory_map.hpp"

namespace alloctap::testing {

/// A part of a file. Neighbours that differ in nothing but their places are one: the system may
/// list them as one or as several.
struct MappedFile {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uint64_t offset = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  std::string path;

  bool operator==(const MappedFile&) const = default;

  [[nodiscard]] bool goes_on_as(const MappedFile& next) const {
    return end == next.start && offset + (end - start) == next.offset && path == next.path &&
           readable == next.readable && writable == next.writable && executable == next.executable;
  }

  /// Whether memory holds what the file does. False where the file cannot be read that far.
  [[nodiscard]] bool is_as_in_file() const {
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    std::string text(end - start, '\0');
    // The last page goes on behind the file's end, in zeros.
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    return file.gcount() > 0 &&
           std::memcmp(text.data(), reinterpret_cast<const void*>(start), text.size()) == 0;
  }
};

/// By ascending address.
inline std::vector<MappedFile> mapped_files() {
  std::vector<MappedFile> files;
  std::array<char, std::size_t{1} << 16> buffer{};
  os::visit_memory_map(buffer, [&](const os::MemoryRegion& region) {
    if (!region.path.starts_with('/')) return true;
    MappedFile file{region.start,    region.end,        region.file_offset,      region.readable,
                    region.writable, region.executable, std::string(region.path)};
    if (!files.empty() && files.back().goes_on_as(file)) {
      files.back().end = file.end;
    } else {
      files.push_back(std::move(file));
    }
    return true;
  });
  return files;
}

/// The part that `address` is in; an empty one if no file is there.
inline MappedFile mapped_file_at(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (MappedFile& file : mapped_files()) {
    if (place >= file.start && place < file.end) return std::move(file);
  }
  return {};
}

/// Whether any page of the process may be written and executed.
inline bool has_open_pages() {
  bool found = false;
  std::array<char, std::size_t{1} << 16> buffer{};
  os::visit_memory_map(buffer, [&](const os::MemoryRegion& region) {
    found = region.writable && region.executable;
    return !found;
  });
  return found;
}

}  // namespace alloctap::testing
