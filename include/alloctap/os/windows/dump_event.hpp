/// Named event by which other processes request a dump; MemoryWatcher has such an event, too.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cwchar>

#include "alloctap/os/thread.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/handle.hpp"

namespace alloctap::os {

/// Name of the event for a process id, in the namespace of the user's session.
class DumpEventName {
 public:
  explicit DumpEventName(DWORD process) noexcept {
    std::swprintf(text_.data(), text_.size(), L"Local\\alloctap.dump.%lu", process);
  }
  [[nodiscard]] const wchar_t* c_str() const noexcept { return text_.data(); }

 private:
  std::array<wchar_t, 40> text_{};
};

/// Calls a function, on a separate thread, each time a process sets the event
/// `Local\alloctap.dump.<process id>`. The function chooses what to dump, the format and the
/// output:
///
///     constinit alloctap::os::DumpEvent event;
///     event.start([]() noexcept { static_cast<void>(Tracker::dump(alloctap::TextDump{}, file));
///     });
///
/// The event is auto-reset: each set requests one dump, and sets during a dump request one more
/// dump. A process has one such event. Constant-initialized, never destroyed. Control plane; not
/// thread-safe.
class DumpEvent {
 public:
  using Function = void (*)() noexcept;

  constexpr DumpEvent() noexcept = default;
  DumpEvent(const DumpEvent&) = delete;
  DumpEvent& operator=(const DumpEvent&) = delete;

  /// Starts the thread. Returns 0 or the negated system error: `-EBUSY` if this object is started,
  /// `-EEXIST` if this process, or another one of this user, already has an event of that name.
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
    // The thread uses both handles until `stop`.
    static_cast<void>(ended.release());
    static_cast<void>(asked.release());
    return 0;
  }

  /// Stops the thread after a dump in progress; does nothing if not started. Must not be called
  /// inside DllMain, because no thread can end during DllMain.
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
  /// The handle of the end event is first, so that ending has priority over dumps.
  std::array<HANDLE, 2> events_{};
  WorkerThread thread_;
};

}  // namespace alloctap::os
