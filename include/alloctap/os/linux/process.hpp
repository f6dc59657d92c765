#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/os/process.hpp"

namespace alloctap::os {

/// Reads the start of the file `path` into `buffer`. Returns the number of bytes read.
std::size_t read_file_start(const char* path, std::span<char> buffer) noexcept;

/// Returns the value of `name` in `block`, "NAME=VALUE" strings that each end in '\0'.
std::string_view find_variable(std::string_view block, std::string_view name) noexcept;

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/process.hpp"
#endif
