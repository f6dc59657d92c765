/// Whether a report can be written to a path, found out without writing to it.
///
/// Errors say what is wrong and what to do, and leave it to the caller to name the path's option.
#pragma once

#include <filesystem>
#include <string>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// Where the symbolic link at `path` leads in the end, or `path` where there is none. The links of
/// /proc/PID/fd are kept: they stand for open descriptors and not for the names that they read as.
[[nodiscard]] Result<std::filesystem::path> follow_links(std::filesystem::path path);

/// Whether reports for `path` go into what is there already: a device, a pipe, a descriptor.
[[nodiscard]] bool is_written_through(const std::filesystem::path& path);

/// The path of the standard stream that `path` means, by whatever name (/proc/self/fd/1,
/// /dev/fd/1); empty if it means none. `path` as follow_links returns it.
[[nodiscard]] std::string standard_stream_path(const std::filesystem::path& path);

/// What identifies the device or pipe at `path`, if it can be written. It is not opened: that would
/// disturb a pipe's reader.
[[nodiscard]] Result<std::string> check_device(const std::filesystem::path& path);

/// The canonical form of `path`, if a file can be created there or replaced. A file is created
/// beside it and removed again.
[[nodiscard]] Result<std::filesystem::path> check_file(const std::filesystem::path& path);

/// The path that leads to standard output, if this system has one.
[[nodiscard]] Result<std::string> standard_output_path();

/// What is the same for two names of one file, as far as letters go; `file` as check_file has it.
[[nodiscard]] std::string identity_of(const std::filesystem::path& file);

}  // namespace alloctap::run
