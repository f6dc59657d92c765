/// Finds a module's ELF file and its separate debug file.
#pragma once

#include <elfutils/libdwelf.h>
#include <libelf.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "alloctap/os/file.hpp"
#include "alloctap/os/links.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap::libdw {

/// The bytes of a GNU build-id. Empty if the file has no build-id.
using BuildId = std::span<const std::byte>;

/// The root directory of separate debug files (GDB manual, "Separate Debug Files"). Set it before
/// the first report. The caller keeps the string alive.
inline constinit std::string_view debug_root = "/usr/lib/debug";

/// The /proc directory of the process to symbolize, through which deleted files can be read while
/// they are mapped. Set it before a report. The caller keeps the string alive.
inline constinit std::string_view process_directory = "/proc/self";

[[nodiscard]] inline BuildId build_id_of(const Module& module) noexcept {
  return {module.build_id, module.build_id_bytes};
}

/// Returns whether the ELF file has the build-id `wanted`, or has no build-id if `wanted` is empty.
[[nodiscard]] inline bool has_build_id(int descriptor, BuildId wanted) {
  ::elf_version(EV_CURRENT);
  const auto end = [](Elf* elf) { ::elf_end(elf); };
  const std::unique_ptr<Elf, decltype(end)> elf(::elf_begin(descriptor, ELF_C_READ_MMAP, nullptr),
                                                end);
  if (elf == nullptr || ::elf_kind(elf.get()) != ELF_K_ELF) return false;
  const void* bytes = nullptr;
  const auto size = ::dwelf_elf_gnu_build_id(elf.get(), &bytes);
  const BuildId found(static_cast<const std::byte*>(bytes),
                      size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::ranges::equal(found, wanted);
}

/// Opens the file at `path`. Returns a closed file if its build-id differs from `wanted`.
[[nodiscard]] inline os::File open_with_build_id(const std::string& path, BuildId wanted) {
  int error = 0;
  os::File file = os::open_for_reading(path.c_str(), error);
  if (error != 0 || !has_build_id(file.descriptor(), wanted)) return {};
  return file;
}

/// Returns "/usr/lib/debug/.build-id/ab/cdef.debug" for the build-id abcdef.
[[nodiscard]] inline std::string debug_path_of(BuildId id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string path(debug_root);
  path += "/.build-id/";
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (i == 1) path += '/';
    path += kDigits[std::to_integer<unsigned>(id[i]) >> 4];
    path += kDigits[std::to_integer<unsigned>(id[i]) & 15];
  }
  return path + ".debug";
}

struct OpenFile {
  os::File file;
  std::string path;
};

/// Finds the debug file of a module by its build-id `id`, otherwise by the name `link`
/// (.gnu_debuglink) in GDB's directories. Accepts only files with build-id `id`. Contacts no
/// debuginfod server.
[[nodiscard]] inline OpenFile find_debug_file(BuildId id, std::string_view module_path,
                                              std::string_view link) {
  if (id.empty()) return {};
  const auto open = [id](std::string path) {
    os::File file = open_with_build_id(path, id);
    return OpenFile{std::move(file), std::move(path)};
  };
  OpenFile found = open(debug_path_of(id));
  if (found.file.is_open() || link.empty()) return found;
  const std::string_view directory = module_path.substr(0, module_path.rfind('/') + 1);
  const std::string_view folders[][2] = {{{}, {}}, {{}, ".debug/"}, {debug_root, {}}};
  for (const auto& [root, subfolder] : folders) {
    std::string path;
    for (const std::string_view part : {root, directory, subfolder, link}) path += part;
    found = open(std::move(path));
    if (found.file.is_open()) return found;
  }
  return {};
}

/// Returns whether the /proc link `link` refers to the file at `path`, which may be deleted.
[[nodiscard]] inline bool leads_to(const std::string& link, std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::string target(path.size() + kDeleted.size() + 1, '\0');
  target.resize(os::read_link(link.c_str(), target).size());
  if (!target.starts_with(path)) return false;
  const std::string_view rest = std::string_view(target).substr(path.size());
  return !target.empty() && (rest.empty() || rest == kDeleted);
}

/// Returns the path of the /proc link to the file mapped at the start of `module` (proc(5)).
/// Returns an empty string if no link is readable. Links in map_files require a capability;
/// /proc/PID/exe does not.
[[nodiscard]] inline std::string find_mapped_link(const Module& module) {
  std::string link(process_directory);
  const std::size_t folder = link.size();
  link += "/exe";
  if (leads_to(link, module.path)) return link;
  link.resize(folder);
  link += "/map_files";
  char digits[17];
  char* const end = std::to_chars(std::begin(digits), std::end(digits) - 1, module.start, 16).ptr;
  *end = '-';
  char name[64];
  const std::string_view found = os::find_name(
      link.c_str(), {std::begin(digits), static_cast<std::size_t>(end + 1 - digits)}, name);
  if (found.empty()) return {};
  link += '/';
  link += found;
  return leads_to(link, module.path) ? link : std::string();
}

/// Opens the file with the symbols of a module: the loaded file if readable, otherwise its debug
/// file. Rejects a file with another build-id, because a rebuilt file would give wrong names. If
/// the module has no build-id and its file was deleted, rejects any new file at the path.
[[nodiscard]] inline OpenFile find_code_file(const Module& module) {
  const BuildId id = build_id_of(module);
  OpenFile own{.file = {}, .path = std::string(module.path)};
  if (!module.is_gone || !id.empty()) own.file = open_with_build_id(own.path, id);
  if (!own.file.is_open() && module.path.starts_with('/')) {
    own.file = open_with_build_id(find_mapped_link(module), id);
  }
  return own.file.is_open() ? std::move(own) : find_debug_file(id, {}, {});
}

}  // namespace alloctap::libdw
