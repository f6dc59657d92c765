/// What a program's file says of the processes that it is made for.
#pragma once

#include <string>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// Whether a library of this executable's kind can be loaded into the program at `path`, which a
/// message names as `name`. A file that is missing is kNotFound, one that is no program for 64-bit
/// Windows on x86-64 kPermissionDenied.
[[nodiscard]] Status check_program_image(const std::wstring& path, const std::string& name);

}  // namespace alloctap::run
