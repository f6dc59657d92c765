#include "launcher/elf_check.hpp"

#include <elf.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/elf_file.hpp"
#include "launcher/failure.hpp"

namespace alloctap::run {
namespace {

/// The program that runs now: what it is, the preloaded object is too.
constexpr char kOwnPath[] = "/proc/self/exe";

bool read_loader(const ElfFile& file, std::string& loader) {
  std::vector<Elf64_Phdr> segments;
  if (!file.read_segments(segments)) return false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_filesz < 2 || segment.p_filesz > PATH_MAX) return false;
    loader.resize(segment.p_filesz);
    if (!file.read(std::span(loader), segment.p_offset)) return false;
    loader.resize(loader.find('\0') == loader.npos ? 0 : loader.find('\0'));
    return !loader.empty();
  }
  return true;
}

/// Go's linker writes one with its build id.
bool has_go_note(std::string_view notes) {
  constexpr std::size_t kAlignment = 4;
  const auto aligned = [](std::size_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); };
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    if (notes.substr(0, note.n_namesz) == std::string_view("Go\0", 4)) return true;
    notes.remove_prefix(std::min(aligned(note.n_namesz) + aligned(note.n_descsz), notes.size()));
  }
  return false;
}

Status refuse(const std::string& path, const std::string& why) {
  return Status::failed_precondition("program ", in_quotes(path), " ", why);
}

int bits_of(const ElfProgram& program) { return program.file_class == ELFCLASS32 ? 32 : 64; }

Status check_machine(const std::string& path, const ElfProgram& program, const ElfProgram& own) {
  if (bits_of(program) != bits_of(own)) {
    return refuse(path, join_text("is a ", bits_of(program), "-bit program, which cannot be ",
                                  "tracked; use a ", bits_of(own), "-bit build of it"));
  }
  if (program.machine == own.machine && program.byte_order == own.byte_order) {
    return Status();
  }
  return refuse(path, join_text("is built for another machine (ELF machine ", program.machine,
                                "); use an alloctap-run that is built for that one"));
}

/// This program is linked statically: the shell tells what loads programs here.
std::string loader_of_system() {
  const Result<ElfProgram> shell = read_elf_program("/bin/sh");
  return shell.ok() ? shell->loader : std::string();
}

Status check_loader(const std::string& path, const ElfProgram& program) {
  constexpr std::array kOtherLibraries{"ld-musl-", "uClibc", "linker64"};
  if (program.loader.empty()) {
    std::error_code error;
    // The loader has no loader, and can be told to run a program.
    if (std::filesystem::equivalent(path, loader_of_system(), error)) return Status();
    return refuse(path,
                  "is statically linked, so nothing can be preloaded into it; link it "
                  "dynamically or build alloctap into it (InterposeHook)");
  }
  for (const char* library : kOtherLibraries) {
    if (!absl::StrContains(program.loader, library)) continue;
    return refuse(path, join_text("uses another C library (loader ", in_quotes(program.loader),
                                  "); build alloctap-run or the program for the same one"));
  }
  if (::access(program.loader.c_str(), F_OK) == 0) return Status();
  return Status::not_found("loader ", in_quotes(program.loader), " of program ", in_quotes(path),
                           ": ", error_text(errno),
                           "; install the C library that the program needs");
}

bool may_change_ids(const std::string& path) {
  struct statvfs system{};
  if (::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return false;
  return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

/// As the kernel decides on AT_SECURE: not by the bits, but by whether real and effective ids
/// differ once they have had their effect.
Status check_ids(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return Status();
  const bool obeyed = may_change_ids(path);
  // Without the group's execute bit, setgid means mandatory locking.
  const bool sets_group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
  const uid_t user = obeyed && (status.st_mode & S_ISUID) != 0 ? status.st_uid : ::geteuid();
  const gid_t group = obeyed && sets_group ? status.st_gid : ::getegid();
  if (user == ::getuid() && group == ::getgid()) return Status();
  return refuse(path, join_text("runs as another user or group (setuid or setgid: ", user, ":",
                                group, "), where preloading is off; start alloctap-run as that ",
                                "one, or track a copy without the bit"));
}

Status check_capabilities(const std::string& path) {
  if (::getxattr(path.c_str(), "security.capability", nullptr, 0) < 0) return Status();
  return refuse(path,
                "has file capabilities, with which preloading is off; track a copy of it: "
                "cp leaves them behind");
}

}  // namespace

Result<ElfProgram> read_elf_program(const std::string& path) {
  Status damaged = Status::permission_denied("program ", in_quotes(path),
                                             " is a damaged ELF file; build or install it again");
  const ElfFile file(path);
  const Elf64_Ehdr& header = file.header();
  ElfProgram program{.file_class = header.e_ident[EI_CLASS],
                     .byte_order = header.e_ident[EI_DATA],
                     .machine = header.e_machine,
                     .loader = {}};
  if (program.file_class != ELFCLASS32 && program.file_class != ELFCLASS64) return damaged;
  if (file.is_native() && !read_loader(file, program.loader)) return damaged;
  return program;
}

bool is_go_program(const std::string& path) {
  constexpr std::size_t kMaxNoteBytes = 64 * 1024;
  const ElfFile file(path);
  std::vector<Elf64_Phdr> segments;
  if (!file.is_native() || !file.read_segments(segments)) return false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (file.read(std::span(notes), segment.p_offset) && has_go_note(notes)) return true;
  }
  return false;
}

Status check_preloadable(const std::string& path) {
  if (::access(kOwnPath, F_OK) != 0) {
    return Status::failed_precondition(
        "there is no /proc here, without which a tracker knows too little of its program; mount it "
        "by mount -t proc proc /proc");
  }
  const Result<ElfProgram> own = read_elf_program(kOwnPath);
  if (!own.ok()) return own.status();
  const Result<ElfProgram> program = read_elf_program(path);
  if (!program.ok()) return program.status();
  if (Status status = check_machine(path, *program, *own); !status.ok()) return status;
  if (Status status = check_loader(path, *program); !status.ok()) return status;
  if (Status status = check_ids(path); !status.ok()) return status;
  return check_capabilities(path);
}

}  // namespace alloctap::run
