/// A process beside the tracked program that the program never hears of.
#pragma once

#include <alloctap/os/file.hpp>
#include <cstddef>
#include <string_view>

namespace alloctap::run {

/// A program with a socket for its standard input and output. It gets an empty environment and none
/// of the tracked program's descriptors, and is no child of it: its end sends no signal and ends no
/// wait, unless the program takes in orphans (PR_SET_CHILD_SUBREAPER, process 1). It lives until it
/// has answered, or finds that nobody listens. Allocates nothing from the host; may run in a
/// program that has crashed. One at a time.
class HelperProcess {
 public:
  HelperProcess() noexcept = default;
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  /// To be called before the program runs: what it may do then, the helper may be started by.
  static void note_start_of_program() noexcept;

  /// Starts the program at `path`; false where the system refuses, or where the tracked program has
  /// confined itself (seccomp(2)): to try could end it.
  [[nodiscard]] bool start(const char* path) noexcept;

  /// Sends all of `bytes`; false where the helper does not take them.
  [[nodiscard]] bool send(std::string_view bytes) noexcept;

  /// No more is sent.
  void end_of_sending() noexcept;

  /// Receives up to `size` bytes; 0 at the end, negative on errors and when the helper is silent
  /// for five minutes.
  [[nodiscard]] std::ptrdiff_t receive(char* buffer, std::size_t size) noexcept;

 private:
  os::File socket_;
};

}  // namespace alloctap::run
