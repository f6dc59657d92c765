/// Files of baselines: location, environment variables, reading and writing.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/file_contents.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/baseline.hpp"
#include "alloctap/testing/baseline_text.hpp"

namespace alloctap::testing {

/// Directory of baselines if the program specifies none. Default: "baselines" in the working
/// directory.
inline constexpr std::string_view kBaselinesVariable = "ALLOCTAP_BASELINES";
/// "1" overwrites baselines by measurements; "0", empty or unset compares.
inline constexpr std::string_view kUpdateBaselinesVariable = "ALLOCTAP_UPDATE_BASELINES";

enum class BaselineUpdate : unsigned char { kByEnvironment, kNever, kAlways };

/// Returns true if baselines are to be written. Reads the environment at process start. Fails for
/// values other than those of `kUpdateBaselinesVariable`.
[[nodiscard]] inline Result<bool> updates_baselines(BaselineUpdate update) {
  if (update != BaselineUpdate::kByEnvironment) return update == BaselineUpdate::kAlways;
  std::array<char, 64> buffer{};
  const std::string_view value = os::initial_environment(kUpdateBaselinesVariable, buffer);
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  return Status::invalid_argument(std::string(kUpdateBaselinesVariable) + "=" + std::string(value) +
                                  ": say 1 to update baselines, or 0");
}

class BaselineFile {
 public:
  /// Rejects implausibly large files.
  static constexpr std::size_t kMaxBytes = 64 * 1024 * 1024;

  /// Returns the file of the baseline `name`. Allows letters, digits, spaces and "-_.,+()"; rejects
  /// names that leave the directory or are invalid on some system. An empty `directory` selects
  /// that of the environment.
  [[nodiscard]] static Result<BaselineFile> find(std::string_view name,
                                                 std::string_view directory) {
    if (!is_file_name(name)) {
      return Status::invalid_argument("\"" + std::string(name) +
                                      "\" cannot be the name of a baseline, which is a file's: use "
                                      "letters, digits, spaces and \"-_.,+()\", at most " +
                                      std::to_string(kLongestName) +
                                      ", and no dot or space at an end");
    }
    BaselineFile file;
    file.directory_ = directory.empty() ? environment_directory() : std::string(directory);
    file.path_ = file.directory_ + "/" + std::string(name) + ".baseline";
    return file;
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Reads the file. Fails with `kNotFound` if it does not exist. Control plane.
  [[nodiscard]] Result<Baseline> read() const {
    ArenaArray<char> contents;
    const int error = read_file(path_.c_str(), kMaxBytes, contents);
    if (error == -ENOENT) return Status::not_found("there is no file ", path_);
    if (error != 0) {
      return Status::unavailable("cannot read ", path_, ": ", os::error_text(error));
    }
    return read_baseline(text_of(contents), path_);
  }

  /// Replaces the file atomically; creates the directory. Control plane.
  [[nodiscard]] Status write(const Baseline& baseline) const {
    std::error_code error;
    std::filesystem::create_directories(
        std::filesystem::path(std::u8string(directory_.begin(), directory_.end())), error);
    if (error) {
      return Status::unavailable("cannot make the directory ", directory_, ": ", error.message());
    }
    FileOutput output(path_);
    if (Status status = output.open(); !status.ok()) return status;
    DumpWriter writer(output);
    write_baseline(baseline, writer);
    if (Status status = writer.finish(); !status.ok()) return status;
    return output.commit();
  }

 private:
  static constexpr std::size_t kLongestName = 200;

  static bool is_file_name(std::string_view name) noexcept {
    static constexpr std::string_view kOthers = " -_.,+()";
    const auto is_end = [](char character) { return character == '.' || character == ' '; };
    if (name.empty() || name.size() > kLongestName || is_end(name.front()) || is_end(name.back())) {
      return false;
    }
    return std::all_of(name.begin(), name.end(), [](char character) {
      return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
             (character >= '0' && character <= '9') ||
             kOthers.find(character) != std::string_view::npos;
    });
  }

  static std::string environment_directory() {
    std::array<char, 4096> buffer{};
    const std::string_view value = os::initial_environment(kBaselinesVariable, buffer);
    return value.empty() ? "baselines" : std::string(value);
  }

  std::string directory_;
  std::string path_;
};

}  // namespace alloctap::testing
