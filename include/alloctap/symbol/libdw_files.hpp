/// A module's ELF file, debug file and libdwfl session, and a hint at unreadable debug information.
#pragma once

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "alloctap/os/file.hpp"
#include "alloctap/symbol/bounded_text.hpp"
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

/// Opens the file at `path`. Returns a closed `os::File` if the file cannot be opened, or if the
/// build-id of the file differs from `wanted`.
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

/// A libdwfl session that contains one module, loaded at the addresses that its file states. Not
/// thread-safe; allocates from the host.
class DebugModule {
 public:
  /// Opens the module. `get` returns nullptr if the module's file was deleted or replaced.
  explicit DebugModule(const Module& module) : session_(::dwfl_begin(&kCallbacks)) {
    OpenFile code = find_code_file(module);
    if (session_ == nullptr || !code.file.is_open()) return;
    constexpr bool kAtItsOwnAddresses = true;
    module_ = ::dwfl_report_elf(session_.get(), "", code.path.c_str(), code.file.descriptor(), 0,
                                kAtItsOwnAddresses);
    // On success, libdwfl owns the descriptor.
    if (module_ != nullptr) code.file.release();
    ::dwfl_report_end(session_.get(), nullptr, nullptr);
  }

  [[nodiscard]] Dwfl_Module* get() const noexcept { return module_; }

 private:
  struct End {
    void operator()(Dwfl* session) const noexcept { ::dwfl_end(session); }
  };

  /// The find_debuginfo callback for libdwfl. Returns a descriptor or -1; sets `*found` to a path
  /// that libdwfl frees. Replaces libdwfl's default callback, which may contact debuginfod servers.
  static int find_debug_information(Dwfl_Module* module, void**, const char*, Dwarf_Addr,
                                    const char* path, const char* link, GElf_Word checksum,
                                    char** found) noexcept try {
    // libdwfl also calls this function for supplementary files (DWARF 5, 7.3.6), whose links have
    // no checksum. libdw finds such files itself.
    if (link != nullptr && checksum == 0) return -1;
    const unsigned char* bits = nullptr;
    GElf_Addr place = 0;
    const int size = ::dwfl_module_build_id(module, &bits, &place);
    if (size <= 0 || path == nullptr) return -1;
    const BuildId id(reinterpret_cast<const std::byte*>(bits), static_cast<std::size_t>(size));
    OpenFile file = find_debug_file(id, path, link == nullptr ? "" : link);
    if (!file.file.is_open()) return -1;
    *found = ::strdup(file.path.c_str());
    return file.file.release();
  } catch (...) {
    return -1;
  }

  static constexpr Dwfl_Callbacks kCallbacks{.find_elf = &::dwfl_build_id_find_elf,
                                             .find_debuginfo = &find_debug_information,
                                             .section_address = &::dwfl_offline_section_address,
                                             .debuginfo_path = nullptr};

  std::unique_ptr<Dwfl, End> session_;
  Dwfl_Module* module_ = nullptr;
};

/// Returns whether debug sections of `elf` are compressed with zstd. elfutils reads zstd from 0.189
/// on, if built with zstd.
[[nodiscard]] inline bool is_zstd_compressed(Elf* elf) {
  // ELFCOMPRESS_ZSTD, which older headers lack.
  constexpr auto kZstd = 2;
  for (Elf_Scn* section = ::elf_nextscn(elf, nullptr); section != nullptr;
       section = ::elf_nextscn(elf, section)) {
    GElf_Chdr compression;
    if (::gelf_getchdr(section, &compression) != nullptr && compression.ch_type == kZstd) {
      return true;
    }
  }
  return false;
}

[[nodiscard]] inline bool is_zstd_compressed(const char* path) {
  int error = 0;
  const os::File file = os::open_for_reading(path, error);
  const auto end = [](Elf* elf) { ::elf_end(elf); };
  const std::unique_ptr<Elf, decltype(end)> elf(
      ::elf_begin(file.descriptor(), ELF_C_READ_MMAP, nullptr), end);
  return elf != nullptr && is_zstd_compressed(elf.get());
}

/// A hint for reports about the first file whose debug information could not be read. Not
/// thread-safe, because symbolizers are not.
class UnreadableDebugInformation {
 public:
  /// Remembers `path` if the debug information of `module` is unreadable because of zstd.
  static void look_for(Dwfl_Module* module, std::string_view path) {
    Dwarf_Addr bias = 0;
    if (!text().empty() || ::dwfl_module_getdwarf(module, &bias) != nullptr) return;
    const char* debug_file = nullptr;
    ::dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &debug_file);
    Elf* const elf = ::dwfl_module_getelf(module, &bias);
    if ((elf != nullptr && is_zstd_compressed(elf)) ||
        (debug_file != nullptr && is_zstd_compressed(debug_file))) {
      write(debug_file == nullptr ? path : std::string_view(debug_file));
    }
  }

  /// Returns the hint, or an empty string.
  [[nodiscard]] static std::string_view text() noexcept { return {buffer_.data(), length_}; }

 private:
  static void write(std::string_view path) noexcept {
    BoundedText out(buffer_);
    out.append(
        "no files and lines where debug information is compressed by zstd, which this libdw cannot "
        "read; objcopy --compress-debug-sections=zlib FILE mends it; one such file is ");
    out.append(path);
    length_ = out.text().size();
  }

  static inline constinit std::array<char, 1024> buffer_{};
  static inline constinit std::size_t length_ = 0;
};

}  // namespace alloctap::libdw
