// A named event by which other processes ask this one for a report, as MemoryWatcher had it.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cwchar>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/handle.hpp"
#include "alloctap/os/worker_thread.hpp"

namespace alloctap::os {

/// The name of the event of the process with that id, in the session of its user.
class DumpEventName {
 public:
  explicit DumpEventName(DWORD process) noexcept {
    std::swprintf(text_.data(), text_.size(), L"Local\\alloctap.dump.%lu", process);
  }
  [[nodiscard]] const wchar_t* c_str() const noexcept { return text_.data(); }

 private:
  std::array<wchar_t, 40> text_{};
};

/// Calls a function, on a thread of its own, each time that a process sets the event
/// `Local\alloctap.dump.<process id>`. What is to be dumped, in which form and where to, is the
/// function's:
///
///     constinit alloctap::os::DumpEvent event;
///     event.start([]() noexcept { static_cast<void>(Tracker::dump(alloctap::TextDump{}, file));
///     });
///
/// The event resets itself: setting it once asks for one report. Set again while a report is
/// written, it asks for one more. A process has one such event.
/// Constant-initialized, never destroyed. Control plane; not thread-safe.
class DumpEvent {
 public:
  using Function = void (*)() noexcept;

  constexpr DumpEvent() noexcept = default;
  DumpEvent(const DumpEvent&) = delete;
  DumpEvent& operator=(const DumpEvent&) = delete;

  /// 0, or the negated system error: `-EEXIST` where the process, or another of the user's, has an
  /// event of that name, `-EBUSY` where this one has been started.
  [[nodiscard]] int start(Function function) noexcept {
    if (thread_.running()) return -EBUSY;
    Handle asked(
        ::CreateEventW(nullptr, FALSE, FALSE, DumpEventName(::GetCurrentProcessId()).c_str()));
    if (!asked) return negated_last_error();
    if (::GetLastError() == ERROR_ALREADY_EXISTS) return -EEXIST;
    Handle ended(::CreateEventW(nullptr, TRUE, FALSE, nullptr));
    if (!ended) return negated_last_error();
    function_ = function;
    events_ = {ended.get(), asked.get()};
    if (const int error = thread_.start(&serve, this); error != 0) return error;
    // The thread's, until `stop`.
    static_cast<void>(ended.release());
    static_cast<void>(asked.release());
    return 0;
  }

  /// Waits for a report that is being written; does nothing where it was not started. Not inside
  /// DllMain, where no thread can end.
  void stop() noexcept {
    if (!thread_.running()) return;
    ::SetEvent(events_[kEnded]);
    thread_.join();
    for (HANDLE& event : events_) {
      ::CloseHandle(event);
      event = nullptr;
    }
  }

 private:
  static constexpr std::size_t kEnded = 0;

  static void serve(void* argument) noexcept {
    const auto& self = *static_cast<const DumpEvent*>(argument);
    constexpr DWORD kAsked = WAIT_OBJECT_0 + 1;
    while (::WaitForMultipleObjects(2, self.events_.data(), FALSE, INFINITE) == kAsked) {
      self.function_();
    }
  }

  Function function_ = nullptr;
  /// That which ends the thread is looked at first.
  std::array<HANDLE, 2> events_{};
  WorkerThread thread_;
};

}  // namespace alloctap::os
