#pragma once

#include "alloctap/os/file.hpp"
#include "alloctap/os/file_view.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/handle.hpp"

namespace alloctap::os {

inline FileView FileView::open(const char* path) noexcept {
  int error = 0;
  const File file = open_for_reading(path, error);
  LARGE_INTEGER size{};
  if (error != 0) return {};
  const HANDLE handle = handle_of(file.descriptor());
  if (::GetFileSizeEx(handle, &size) == 0 || size.QuadPart == 0) return {};
  const Handle section(::CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr));
  if (!section) return {};
  const void* const start = ::MapViewOfFile(section.get(), FILE_MAP_READ, 0, 0, 0);
  if (start == nullptr) return {};
  return FileView({static_cast<const std::byte*>(start), static_cast<std::size_t>(size.QuadPart)});
}

inline FileView::~FileView() {
  if (!bytes_.empty()) ::UnmapViewOfFile(bytes_.data());
}

}  // namespace alloctap::os
