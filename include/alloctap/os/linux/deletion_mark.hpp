// How the kernel shows paths of files that are gone.
#pragma once

#include <string_view>

namespace alloctap::os {

/// Takes the mark off `path` that d_path (the kernel's fs/d_path.c) puts behind the path of a file
/// that was removed or replaced. Returns whether it was there. A file whose name ends so by itself
/// looks the same.
inline bool take_deletion_mark(std::string_view& path) noexcept {
  constexpr std::string_view kMark = " (deleted)";
  const bool is_gone = path.ends_with(kMark);
  if (is_gone) path.remove_suffix(kMark.size());
  return is_gone;
}

}  // namespace alloctap::os
