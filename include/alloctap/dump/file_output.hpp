/// A dump in a file.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/dump/dump_output.hpp"
#include "alloctap/guard/arena_array.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Writes beside `path` and renames when all is written, so that `path` is either the whole new
/// report or what it was before. A pipe or device at `path` is written to directly.
class FileOutput {
 public:
  /// `path` is copied; relative ones count from the working directory at `open`.
  explicit FileOutput(std::string_view path) noexcept {
    has_path_ = !path.empty() && assign(path_, path) && assign(partial_path_, path);
  }
  FileOutput(FileOutput&&) noexcept = default;
  ~FileOutput() { discard(); }

  Status open() {
    if (!has_path_) return Status::invalid_argument("dump: an empty path, or no memory for one");
    int error = 0;
    direct_ = os::is_special_file(path_.data());
    if (!direct_ && !name_partial_file()) {
      return Status::resource_exhausted("dump: no memory for the name of a file");
    }
    // What was given up is still open, and some systems remove no open file.
    file_.close();
    // One of that name is of a process that died with it and had this one's id.
    if (!direct_) os::remove_file(target());
    file_ =
        direct_ ? os::open_for_appending(target(), error) : os::create_for_writing(target(), error);
    partial_exists_ = error == 0 && !direct_;
    return error == 0 ? Status() : failed("open", error);
  }

  Status write(std::string_view text) {
    const int error = os::write_all(file_.descriptor(), text);
    return error == 0 ? Status() : failed("write", error);
  }

  Status commit() {
    if (const int error = file_.close(); error != 0) return failed("write", error);
    if (direct_) return Status();
    if (const int error = os::rename_file(target(), path_.data()); error != 0) {
      return failed("rename", error);
    }
    partial_exists_ = false;
    return Status();
  }

 private:
  using Path = ArenaArray<char>;

  static bool assign(Path& path, std::string_view text) noexcept {
    for (const char character : text) {
      if (!path.push_back(character)) return false;
    }
    return path.push_back('\0');
  }

  /// Hidden from a reader who looks for reports by their name, and apart for every process.
  bool name_partial_file() noexcept {
    char suffix[32] = ".partial.";
    std::uint32_t rest = static_cast<std::uint32_t>(os::current_process_id());
    std::size_t length = std::strlen(suffix);
    do {
      suffix[length++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    partial_path_.clear();
    const std::string_view path(path_.data());
    for (const char character : path) {
      if (!partial_path_.push_back(character)) return false;
    }
    return assign(partial_path_, {suffix, length});
  }

  [[nodiscard]] const char* target() const noexcept {
    return direct_ ? path_.data() : partial_path_.data();
  }

  Status failed(const char* what, int error) {
    discard();
    return Status::unavailable("cannot ", what, " the dump ", path_.data(), ": ",
                               os::error_text(error));
  }

  void discard() noexcept {
    file_.close();
    // What this was moved to has the path now.
    if (partial_exists_ && !partial_path_.empty()) os::remove_file(partial_path_.data());
    partial_exists_ = false;
  }

  Path path_;
  Path partial_path_;
  os::File file_;
  bool has_path_ = false;
  bool direct_ = false;
  bool partial_exists_ = false;
};

static_assert(DumpOutput<FileOutput>);

}  // namespace alloctap
