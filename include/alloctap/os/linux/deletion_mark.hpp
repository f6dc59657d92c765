/// The suffix that the kernel appends to paths of deleted files.
#pragma once

#include <string_view>

namespace alloctap::os {

/// Removes from `path` the suffix that d_path (the kernel's fs/d_path.c) appends if the file was
/// removed or replaced. Returns true if it was present, even as part of the real name.
inline bool take_deletion_mark(std::string_view& path) noexcept {
  constexpr std::string_view kMark = " (deleted)";
  const bool is_gone = path.ends_with(kMark);
  if (is_gone) path.remove_suffix(kMark.size());
  return is_gone;
}

}  // namespace alloctap::os
