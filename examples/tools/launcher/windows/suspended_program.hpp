/// A program that stands before its first instruction, for a library to be put into it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"

namespace alloctap::run {

/// Owns the process until it runs: one that never did is ended by the destructor. Shares the
/// launcher's console, standard handles, directory and environment. It ends with the launcher, even
/// where that is killed; the processes that it starts do not. Move-only; not thread-safe.
class SuspendedProgram {
 public:
  /// `path` is the executable's; `command_line` begins with its name, as Windows has it.
  [[nodiscard]] static Result<SuspendedProgram> start(const std::wstring& path,
                                                      std::wstring command_line);

  SuspendedProgram(SuspendedProgram&&) noexcept = default;
  SuspendedProgram& operator=(SuspendedProgram&&) = delete;
  ~SuspendedProgram();

  /// Loads the library at this absolute path and waits until its DllMain has returned. Where that
  /// fails the program is still to be ended: nothing of it has run.
  [[nodiscard]] Status load_library(const std::wstring& path);

  /// Calls a function of a library that was loaded: an export that takes a text, which ends with
  /// '\0', and whose result is that of a thread.
  [[nodiscard]] Result<std::uint32_t> call_library(const std::wstring& path, const char* function,
                                                   const std::string& text);

  /// Lets it run, and waits for its end; its exit code.
  [[nodiscard]] Result<std::uint32_t> run();

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

 private:
  SuspendedProgram(os::Handle job, os::Handle process, os::Handle thread, std::uint32_t id) noexcept
      : job_(std::move(job)), process_(std::move(process)), thread_(std::move(thread)), id_(id) {}

  os::Handle job_;
  os::Handle process_;
  os::Handle thread_;
  std::uint32_t id_ = 0;
};

}  // namespace alloctap::run
