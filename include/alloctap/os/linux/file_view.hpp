#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include "alloctap/os/file.hpp"
#include "alloctap/os/file_view.hpp"

namespace alloctap::os {

inline FileView FileView::open(const char* path) noexcept {
  int error = 0;
  const File file = open_for_reading(path, error);
  struct stat status{};
  if (error != 0 || ::fstat(file.descriptor(), &status) != 0 || status.st_size <= 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) return {};
  return FileView({static_cast<const std::byte*>(start), size});
}

inline FileView::~FileView() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace alloctap::os
