/// Read-only memory mapping of a whole file.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace alloctap::os {

/// A file mapped for reading as long as this object exists. If another program truncates the file,
/// reads beyond its new end fault. Meant for executables and libraries, which systems and tools
/// replace rather than truncate. Move-only. Control plane.
class FileView {
 public:
  FileView() noexcept = default;
  FileView(FileView&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FileView& operator=(FileView&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~FileView();

  /// Maps the file at `path` (UTF-8). Returns an empty view if it cannot be opened.
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
