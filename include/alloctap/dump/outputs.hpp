/// Destinations of dumps: a file descriptor, a file, memory, a callback, or the program's own type.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "alloctap/status.hpp"

namespace alloctap {

/// `open` prepares the destination, `write` appends text, and `commit` makes the text final.
/// Without `commit`, no file that looks like a report remains. An output takes one dump at a time,
/// and allocates from the program's heap at most for the text of an error.
template <class O>
concept DumpOutput = requires(O& output, std::string_view text) {
  { output.open() } -> std::same_as<Status>;
  { output.write(text) } -> std::same_as<Status>;
  { output.commit() } -> std::same_as<Status>;
};

/// The minimal type that satisfies the concept `DumpOutput`.
struct DumpOutputArchetype {
  Status open() { return Status(); }
  Status write(std::string_view) { return Status(); }
  Status commit() { return Status(); }
};

static_assert(DumpOutput<DumpOutputArchetype>);

/// Type-erased reference to an output, which must outlive it. A copy refers to the same output.
class OutputRef {
 public:
  template <class Output>
    requires(!std::is_same_v<std::remove_cvref_t<Output>, OutputRef>)
  OutputRef(Output&& output) noexcept {
    constexpr bool kIsOutput = DumpOutput<std::remove_reference_t<Output>>;
    static_assert(kIsOutput,
                  "the destination of a dump does not model DumpOutput: pass a FileOutput, "
                  "DescriptorOutput, MemoryOutput or CallbackOutput, or see "
                  "alloctap/dump/outputs.hpp");
    // Without the condition, errors about missing members would bury the assertion above.
    if constexpr (kIsOutput) refer_to(output);
  }

  Status open() const { return open_(output_); }
  Status write(std::string_view text) const { return write_(output_, text); }
  Status commit() const { return commit_(output_); }

 private:
  template <class Output>
  void refer_to(Output& output) noexcept {
    output_ = const_cast<void*>(static_cast<const void*>(&output));
    open_ = [](void* o) { return static_cast<Output*>(o)->open(); };
    write_ = [](void* o, std::string_view text) { return static_cast<Output*>(o)->write(text); };
    commit_ = [](void* o) { return static_cast<Output*>(o)->commit(); };
  }

  void* output_ = nullptr;
  Status (*open_)(void*) = nullptr;
  Status (*write_)(void*, std::string_view) = nullptr;
  Status (*commit_)(void*) = nullptr;
};

class OutputFile;
class OutputText;

/// Implementation of this header's outputs, defined in impl/outputs.hpp. A template, so that one
/// file of a program can instantiate the code for all others (ALLOCTAP_IMPLEMENT).
template <class = void>
struct OutputCalls {
  static Status write(int descriptor, std::string_view text);
  /// Returns nullptr if out of memory.
  static OutputFile* make_file(std::string_view path) noexcept;
  static Status open(OutputFile* file);
  static Status write(OutputFile* file, std::string_view text);
  static Status commit(OutputFile* file);
  static void end(OutputFile* file) noexcept;
  /// For `MemoryOutput`. If `kept` is nullptr, `open` and `write` first set it to a new
  /// `OutputText` in the arena, which `end` frees.
  static Status open(OutputText*& kept);
  static Status write(OutputText*& kept, std::string_view text);
  static std::string_view view(const OutputText* text) noexcept;
  static void end(OutputText* text) noexcept;
};

/// Writes to `descriptor`. The caller owns the descriptor, which stays open.
class DescriptorOutput {
 public:
  explicit DescriptorOutput(int descriptor) noexcept : descriptor_(descriptor) {}

  Status open() { return Status(); }
  Status write(std::string_view text) { return OutputCalls<>::write(descriptor_, text); }
  Status commit() { return Status(); }

 private:
  int descriptor_;
};

/// Writes to a temporary file beside `path` and renames that file to `path` at `commit`, so that
/// `path` is either the whole new report or unchanged. Follows symbolic links (not on Windows) and
/// replaces the target of the links. A replaced file keeps its permissions. Appends directly if
/// `path` is not a regular file (a pipe, a device) or is below /proc. /dev/stdout is therefore the
/// standard output, even if the standard output is a file. Move-only.
class FileOutput {
 public:
  /// Copies `path`. `open` resolves a relative path in the working directory.
  explicit FileOutput(std::string_view path) noexcept : file_(OutputCalls<>::make_file(path)) {}
  FileOutput(FileOutput&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  ~FileOutput() {
    if (file_ != nullptr) OutputCalls<>::end(file_);
  }

  Status open() { return OutputCalls<>::open(file_); }
  Status write(std::string_view text) { return OutputCalls<>::write(file_, text); }
  Status commit() { return OutputCalls<>::commit(file_); }

 private:
  OutputFile* file_;
};

/// Keeps the text in arena memory until destruction. Move-only.
class MemoryOutput {
 public:
  MemoryOutput() noexcept = default;
  MemoryOutput(MemoryOutput&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
  MemoryOutput& operator=(MemoryOutput&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  ~MemoryOutput() {
    if (text_ != nullptr) OutputCalls<>::end(text_);
  }

  Status open() { return OutputCalls<>::open(text_); }
  Status write(std::string_view text) { return OutputCalls<>::write(text_, text); }
  Status commit() { return Status(); }

  /// Returns the written text. Valid until the next dump into this output.
  [[nodiscard]] std::string_view text() const noexcept { return OutputCalls<>::view(text_); }

 private:
  OutputText* text_ = nullptr;
};

/// Calls `callback(std::string_view)` for each piece of text, in order. The callback returns a
/// Status; an error ends the dump. Allocations in the callback are not recorded. If the callback
/// requests a dump or a snapshot from a tracker, the request returns an error. If the callback ends
/// a session, recording stops when the dump has ended.
template <class Callback>
class CallbackOutput {
  static constexpr bool kReturnsStatus = std::is_invocable_r_v<Status, Callback&, std::string_view>;
  static_assert(kReturnsStatus,
                "the function of a CallbackOutput must take a std::string_view and return an "
                "alloctap::Status");

 public:
  explicit CallbackOutput(Callback callback) : callback_(std::move(callback)) {}

  Status open() { return Status(); }
  Status write(std::string_view text) {
    if constexpr (kReturnsStatus) return callback_(text);
    return Status();
  }
  Status commit() { return Status(); }

 private:
  Callback callback_;
};

}  // namespace alloctap
