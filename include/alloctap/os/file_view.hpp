/// The bytes of a file, in memory as far as they are looked at.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace alloctap::os {

/// A file that is mapped for reading, for as long as this lives. If the file is truncated
/// meanwhile, reading the removed part is a fault. Meant for files of code, which systems and tools
/// replace instead of truncating. Move-only. Control plane.
class FileView {
 public:
  FileView() noexcept = default;
  FileView(FileView&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FileView& operator=(FileView&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~FileView();

  /// The file at `path`, in UTF-8; without bytes where it cannot be opened.
  [[nodiscard]] static FileView open(const char* path) noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit FileView(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/file_view.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/file_view.hpp"
#else
#error "alloctap/os/file_view.hpp has no implementation for this system"
#endif
