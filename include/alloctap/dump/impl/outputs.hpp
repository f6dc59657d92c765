/// Definitions for dump/outputs.hpp.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>

#include "alloctap/dump/outputs.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/text_bytes.hpp"

namespace alloctap {

/// Suffix of the name of a report's partial file: ".partial." and numbers.
class PartialSuffix {
 public:
  void append(char character) noexcept { text_[length_++] = character; }
  void append(std::uint32_t number) noexcept {
    char* const start = text_ + length_;
    length_ = static_cast<std::size_t>(std::to_chars(start, std::end(text_), number).ptr - text_);
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_, length_}; }

 private:
  char text_[40] = ".partial.";
  std::size_t length_ = std::strlen(text_);
};

/// The implementation of `FileOutput`.
class OutputFile {
 public:
  explicit OutputFile(std::string_view path) noexcept {
    has_nul_ = path.find('\0') != path.npos;
    has_path_ = !path.empty() && !has_nul_ && assign(path_, path);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { discard(); }

  Status open() {
    // The system would take the text before the NUL as the path.
    if (has_nul_) return Status::invalid_argument("dump: a path with a NUL character");
    if (!has_path_) return has_no_path();
    // The partial file of an aborted dump is still open, and some systems cannot remove open files.
    discard();
    const os::FollowedPath followed(path_.data());
    if (followed.error() != 0) return failed("open", followed.error());
    direct_ = os::is_written_through(followed.c_str());
    if (!name_files(followed.c_str())) {
      return Status::resource_exhausted("dump: no memory for the name of a file");
    }
    const int error = direct_ ? open_directly() : create_partial_file();
    return error == 0 ? Status() : failed("open", error);
  }

  Status write(std::string_view text) {
    const int error = os::write_all_without_signal(file_.descriptor(), text);
    return error == 0 ? Status() : failed("write", error);
  }

  Status commit() {
    if (const int error = file_.close(); error != 0) return failed("write", error);
    if (direct_) return Status();
    if (const int error = os::rename_file(partial_path_.data(), target_path_.data()); error != 0) {
      return failed("rename", error);
    }
    partial_exists_ = false;
    return Status();
  }

  static Status has_no_path() {
    return Status::invalid_argument("dump: an empty path, or no memory for one");
  }

 private:
  using Path = ArenaArray<char>;

  static bool assign(Path& path, std::string_view text) noexcept {
    path.clear();
    return append(path, text) && path.push_back('\0');
  }

  static bool append(Path& path, std::string_view text) noexcept {
    for (const char character : text) {
      if (!path.push_back(character)) return false;
    }
    return true;
  }

  /// Sets `target_path_` to `path`, and `partial_path_` to a name in its directory.
  bool name_files(std::string_view path) noexcept {
    return assign(target_path_, path) && (direct_ || name_partial_file(path));
  }

  int open_directly() noexcept {
    int error = 0;
    file_ = os::open_through(target_path_.data(), error);
    return error;
  }

  int create_partial_file() noexcept {
    // An existing file is left over from a dead process that had this process's id.
    os::remove_file(partial_path_.data());
    int error = 0;
    file_ = os::create_like(partial_path_.data(), target_path_.data(), error);
    partial_exists_ = error == 0;
    return error;
  }

  /// Appends ".partial." and the process id, so searches by extension miss the file. Cuts a name
  /// that would get too long, and appends a hash of the whole name to keep the cut name unique.
  bool name_partial_file(std::string_view path) noexcept {
    const std::string_view name = path.substr(path.find_last_of(os::kPathSeparators) + 1);
    PartialSuffix suffix;
    suffix.append(static_cast<std::uint32_t>(os::current_process_id()));
    // Does not cut a name that is too long without the suffix: opening it fails before the dump.
    const bool is_cut = name.size() <= os::kMaxFileNameBytes &&
                        name.size() + suffix.text().size() > os::kMaxFileNameBytes;
    if (is_cut) {
      suffix.append('.');
      suffix.append(static_cast<std::uint32_t>(hash_text(name)));
      const std::size_t bytes = os::kMaxFileNameBytes - suffix.text().size();
      path.remove_suffix(name.size() - cut_text(name, bytes).size());
    }
    partial_path_.clear();
    return append(partial_path_, path) && append(partial_path_, suffix.text()) &&
           partial_path_.push_back('\0');
  }

  Status failed(const char* what, int error) {
    discard();
    return Status::unavailable("cannot ", what, " the dump ", path_.data(), ": ",
                               os::error_text(error));
  }

  void discard() noexcept {
    file_.close();
    if (partial_exists_ && !partial_path_.empty()) os::remove_file(partial_path_.data());
    partial_exists_ = false;
  }

  /// The path that the program gave.
  Path path_;
  /// `path_` with symbolic links resolved.
  Path target_path_;
  Path partial_path_;
  os::File file_;
  bool has_nul_ = false;
  bool has_path_ = false;
  bool direct_ = false;
  bool partial_exists_ = false;
};

/// The implementation of `MemoryOutput`.
class OutputText {
 public:
  void clear() noexcept { text_.clear(); }

  Status write(std::string_view text) {
    while (text_.capacity() - text_.size() < text.size()) {
      if (!text_.reserve(text_.capacity() * 2 + text.size())) return no_memory();
    }
    for (const char character : text) static_cast<void>(text_.push_back(character));
    return Status();
  }

  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), text_.size()}; }

  static Status no_memory() {
    return Status::resource_exhausted("dump: the system has no memory to keep it");
  }

 private:
  ArenaArray<char> text_;
};

/// Constructs a `T` in the arena. Returns nullptr if out of memory.
template <class T, class... Arguments>
T* make_in_arena(Arguments... arguments) noexcept {
  static_cast<void>(ForkHandlers::ensure_registered());
  void* const place = Arena::allocate(sizeof(T));
  return place == nullptr ? nullptr : ::new (place) T(arguments...);
}

template <class T>
void end_in_arena(T* object) noexcept {
  object->~T();
  Arena::deallocate(object, sizeof(T));
}

template <class Anything>
Status OutputCalls<Anything>::write(int descriptor, std::string_view text) {
  const int error = os::write_all_without_signal(descriptor, text);
  if (error == 0) return Status();
  return Status::unavailable("cannot write the dump to descriptor ", descriptor, ": ",
                             os::error_text(error));
}

template <class Anything>
OutputFile* OutputCalls<Anything>::make_file(std::string_view path) noexcept {
  return make_in_arena<OutputFile>(path);
}

template <class Anything>
Status OutputCalls<Anything>::open(OutputFile* file) {
  return file == nullptr ? OutputFile::has_no_path() : file->open();
}

template <class Anything>
Status OutputCalls<Anything>::write(OutputFile* file, std::string_view text) {
  return file == nullptr ? OutputFile::has_no_path() : file->write(text);
}

template <class Anything>
Status OutputCalls<Anything>::commit(OutputFile* file) {
  return file == nullptr ? OutputFile::has_no_path() : file->commit();
}

template <class Anything>
void OutputCalls<Anything>::end(OutputFile* file) noexcept {
  end_in_arena(file);
}

template <class Anything>
Status OutputCalls<Anything>::open(OutputText*& kept) {
  if (kept != nullptr) kept->clear();
  return write(kept, {});
}

template <class Anything>
Status OutputCalls<Anything>::write(OutputText*& kept, std::string_view text) {
  if (kept == nullptr) kept = make_in_arena<OutputText>();
  return kept == nullptr ? OutputText::no_memory() : kept->write(text);
}

template <class Anything>
std::string_view OutputCalls<Anything>::view(const OutputText* text) noexcept {
  return text == nullptr ? std::string_view() : text->text();
}

template <class Anything>
void OutputCalls<Anything>::end(OutputText* text) noexcept {
  end_in_arena(text);
}

static_assert(DumpOutput<DescriptorOutput>);
static_assert(DumpOutput<FileOutput>);
static_assert(DumpOutput<MemoryOutput>);

}  // namespace alloctap
