#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::testing {

struct ChildProcess {
  static constexpr const char* kVariable = "ALLOCTAP_TEST_BODY";

  /// The number, in its test, of the body that this process was started for; 0 if for none.
  static int wanted() {
    char text[16] = {};
    return ::GetEnvironmentVariableA(kVariable, text, sizeof text) > 0 ? std::stoi(text) : 0;
  }

  /// Runs this program's present test alone, up to body number `body`; whether it held there.
  static bool run(int body) {
    std::string name = doctest::getContextOptions()->currentTest->m_name;
    // They would end the name.
    std::replace(name.begin(), name.end(), ',', '?');
    std::replace(name.begin(), name.end(), '"', '?');
    char program[1024] = {};
    ::GetModuleFileNameA(nullptr, program, sizeof program);
    std::string line = '"' + std::string(program) + "\" \"--test-case=" + name + '"';
    ::SetEnvironmentVariableA(kVariable, std::to_string(body).c_str());
    STARTUPINFOA startup{};
    startup.cb = sizeof startup;
    PROCESS_INFORMATION child{};
    const bool started = ::CreateProcessA(nullptr, line.data(), nullptr, nullptr, FALSE, 0, nullptr,
                                          nullptr, &startup, &child) != 0;
    ::SetEnvironmentVariableA(kVariable, nullptr);
    if (!started) return false;
    const os::Handle process(child.hProcess);
    const os::Handle thread(child.hThread);
    constexpr DWORD kHalfMinute = 30'000;
    DWORD status = 1;
    if (::WaitForSingleObject(process.get(), kHalfMinute) != WAIT_OBJECT_0) {
      ::TerminateProcess(process.get(), 1);
      return false;
    }
    ::GetExitCodeProcess(process.get(), &status);
    return status == kHeld;
  }

  /// No other end of a process looks like this.
  static constexpr DWORD kHeld = 77;

  /// The number of the body that the present test meets now, from 1 on.
  static int next_number() {
    const char* const test = doctest::getContextOptions()->currentTest->m_name;
    met_ = test == test_ ? met_ + 1 : 1;
    test_ = test;
    return met_;
  }

 private:
  static inline const char* test_ = nullptr;
  static inline int met_ = 0;
};

/// Ends the child of `holds_in_child` as if its body had returned true, from a signal handler too.
[[noreturn]] inline void end_as_held() {
  ::TerminateProcess(::GetCurrentProcess(), ChildProcess::kHeld);
  __builtin_unreachable();
}

/// Whether `body` returned true in a process of its own, which repeats the test up to this point.
/// False too where that crashed, or took more than half a minute.
template <class Body>
[[nodiscard]] bool holds_in_child(Body&& body) {
  const int number = ChildProcess::next_number();
  const int wanted = ChildProcess::wanted();
  if (wanted == 0) return ChildProcess::run(number);
  if (number < wanted) return true;
  ::TerminateProcess(::GetCurrentProcess(), body() ? ChildProcess::kHeld : 1);
  return false;
}

}  // namespace alloctap::testing
