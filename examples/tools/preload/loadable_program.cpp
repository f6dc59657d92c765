#include "loadable_program.hpp"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <alloctap/os/file.hpp>
#include <cstddef>
#include <string_view>

namespace alloctap::run {
namespace {

/// The path of a loader or interpreter, ended by '\0'; the kernel reads no longer one of a script.
struct ShortPath {
  char text[256] = {};
};

/// The start of an executable file, and what it says of the program.
class ProgramFile {
 public:
  explicit ProgramFile(const char* path) noexcept {
    // To open a pipe may block.
    if (::stat(path, &status_) != 0 || !S_ISREG(status_.st_mode)) return;
    int error = 0;
    file_ = os::open_for_reading(path, error);
    if (error != 0) return;
    // The last byte stays '\0'.
    read(start_.text, sizeof start_.text - 1, 0);
    read(&header_, sizeof header_, 0);
  }

  [[nodiscard]] bool is_script() const noexcept { return start().starts_with("#!"); }
  [[nodiscard]] bool is_elf() const noexcept { return start().starts_with(ELFMAG); }

  [[nodiscard]] bool has_machine_of(const ProgramFile& other) const noexcept {
    return header_.e_ident[EI_CLASS] == other.header_.e_ident[EI_CLASS] &&
           header_.e_ident[EI_DATA] == other.header_.e_ident[EI_DATA] &&
           header_.e_machine == other.header_.e_machine;
  }

  /// Returns true if the loader takes no object from the environment.
  [[nodiscard]] bool changes_ids() const noexcept {
    return (status_.st_mode & (S_ISUID | S_ISGID)) != 0;
  }

  /// Returns the interpreter of a script.
  [[nodiscard]] ShortPath interpreter() const noexcept {
    ShortPath path;
    std::string_view line = start().substr(2);
    line = line.substr(0, line.find('\n'));
    line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    line.substr(0, line.find_first_of(" \t")).copy(path.text, sizeof path.text - 1);
    return path;
  }

  /// Returns what PT_INTERP names; empty if the program has none.
  [[nodiscard]] ShortPath loader() const noexcept {
    ShortPath path;
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      ElfW(Phdr) segment{};
      read(&segment, sizeof segment, header_.e_phoff + i * sizeof segment);
      if (segment.p_type != PT_INTERP) continue;
      read(path.text, std::min<std::size_t>(segment.p_filesz, sizeof path.text - 1),
           segment.p_offset);
    }
    return path;
  }

 private:
  [[nodiscard]] std::string_view start() const noexcept { return start_.text; }

  /// Leaves what is in `to` where the file is shorter.
  void read(void* to, std::size_t bytes, std::size_t offset) const noexcept {
    static_cast<void>(!::pread(file_.descriptor(), to, bytes, static_cast<off_t>(offset)));
  }

  struct stat status_{};
  os::File file_;
  ShortPath start_;
  ElfW(Ehdr) header_ {};
};

bool is_same_file(const char* path, const char* other) noexcept {
  struct stat mine{};
  struct stat theirs{};
  return ::stat(path, &mine) == 0 && ::stat(other, &theirs) == 0 && mine.st_dev == theirs.st_dev &&
         mine.st_ino == theirs.st_ino;
}

/// `path` names the ELF file `program`.
bool is_loadable_into(const char* path, const ProgramFile& program) noexcept {
  const ProgramFile own("/proc/self/exe");
  if (!own.is_elf()) return true;
  if (!program.has_machine_of(own) || program.changes_ids()) return false;
  const ShortPath own_loader = own.loader();
  // A loader runs programs, and may be how this one was run.
  if (own_loader.text[0] == '\0' || is_same_file(path, own_loader.text)) return true;
  return is_same_file(program.loader().text, own_loader.text);
}

/// `depth` more scripts may be interpreters of scripts.
bool is_loadable_into(const char* path, int depth) noexcept {
  const ProgramFile program(path);
  if (program.is_elf()) return is_loadable_into(path, program);
  if (!program.is_script() || depth == 0) return true;
  return is_loadable_into(program.interpreter().text, depth - 1);
}

}  // namespace

bool is_loadable_into(const char* path) noexcept {
  constexpr int kMaxScripts = 4;
  return is_loadable_into(path, kMaxScripts);
}

}  // namespace alloctap::run
