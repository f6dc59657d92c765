/// A program whose output a test reads.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::testing {

struct PipedOutcome {
  DWORD code = 0;
  std::string out;
  std::string err;
};

/// One end that a child inherits, and one that it does not.
struct Pipe {
  os::Handle read;
  os::Handle write;
};

class PipedProgram {
 public:
  /// `line` begins with the program's path. It runs in `directory`.
  PipedProgram(std::string line, const std::string& directory)
      : in_(make_pipe()), out_(make_pipe()), err_(make_pipe()) {
    inherit(in_.read);
    inherit(out_.write);
    inherit(err_.write);
    STARTUPINFOA startup{};
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = in_.read.get();
    startup.hStdOutput = out_.write.get();
    startup.hStdError = err_.write.get();
    PROCESS_INFORMATION child{};
    started_ = ::CreateProcessA(nullptr, line.data(), nullptr, nullptr, TRUE, 0, nullptr,
                                directory.c_str(), &startup, &child) != 0;
    process_ = os::Handle(child.hProcess);
    const os::Handle thread(child.hThread);
    // What is left open here would never end.
    in_.read = {};
    out_.write = {};
    err_.write = {};
  }

  [[nodiscard]] bool started() const { return started_; }

  /// Waits for the first line of its output.
  std::string read_line() {
    while (outcome_.out.find('\n') == std::string::npos && read_some(out_.read, outcome_.out)) {
    }
    return outcome_.out.substr(0, outcome_.out.find_first_of("\r\n"));
  }

  void write(const std::string& text) {
    DWORD count = 0;
    ::WriteFile(in_.write.get(), text.data(), static_cast<DWORD>(text.size()), &count, nullptr);
  }

  /// Reads to the end. What it writes to its standard error fits into the pipe.
  PipedOutcome finish() {
    in_.write = {};
    while (read_some(out_.read, outcome_.out)) {
    }
    while (read_some(err_.read, outcome_.err)) {
    }
    ::WaitForSingleObject(process_.get(), INFINITE);
    ::GetExitCodeProcess(process_.get(), &outcome_.code);
    return outcome_;
  }

 private:
  static Pipe make_pipe() {
    constexpr DWORD kRoom = 1 << 20;
    HANDLE read = nullptr;
    HANDLE write = nullptr;
    ::CreatePipe(&read, &write, nullptr, kRoom);
    return {os::Handle(read), os::Handle(write)};
  }

  static void inherit(const os::Handle& handle) {
    ::SetHandleInformation(handle.get(), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
  }

  static bool read_some(const os::Handle& pipe, std::string& text) {
    std::array<char, 65536> buffer;
    DWORD count = 0;
    const bool read = ::ReadFile(pipe.get(), buffer.data(), static_cast<DWORD>(buffer.size()),
                                 &count, nullptr) != 0;
    text.append(buffer.data(), count);
    return read && count > 0;
  }

  Pipe in_;
  Pipe out_;
  Pipe err_;
  os::Handle process_;
  bool started_ = false;
  PipedOutcome outcome_;
};

}  // namespace alloctap::testing
