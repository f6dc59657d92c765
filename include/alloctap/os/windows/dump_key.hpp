/// Hot key that requests a dump; Ctrl+Alt+D is MemoryWatcher's.
#pragma once

#include <array>
#include <cerrno>
#include <cstdio>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/handle.hpp"
#include "alloctap/os/windows/hot_key.hpp"
#include "alloctap/os/windows/message_queue.hpp"
#include "alloctap/os/worker_thread.hpp"

namespace alloctap::os {

/// Calls a function, on a separate thread, each time a key is pressed, whichever program has the
/// focus. The function chooses what to dump, the format and the output:
///
///     constinit alloctap::os::DumpKey key;
///     constexpr alloctap::os::HotKey kKey{MOD_CONTROL | MOD_ALT, 'D'};
///     const int error = key.start(kKey, []() noexcept {
///       static_cast<void>(Tracker::dump(alloctap::TextDump{}, file));
///     });
///     if (error != 0) std::puts(alloctap::os::DumpKeyProblem(kKey, error).c_str());
///
/// Holding the key requests one dump; a press during a dump requests one more. Requires a program
/// in a user's session, so services cannot use it. The first start loads user32.dll.
/// Constant-initialized, never destroyed. Control plane; not thread-safe.
class DumpKey {
 public:
  using Function = void (*)() noexcept;

  constexpr DumpKey() noexcept = default;
  DumpKey(const DumpKey&) = delete;
  DumpKey& operator=(const DumpKey&) = delete;

  /// Starts the thread and blocks until the key is registered. Returns 0 or the negated system
  /// error, which `DumpKeyProblem` formats: `-EEXIST` if another program or thread has the key,
  /// `-EINVAL` if `key` is not `valid()`, `-EBUSY` if this object is started. Must not be called
  /// inside DllMain, because no thread can begin during DllMain.
  [[nodiscard]] int start(HotKey key, Function function) noexcept {
    if (thread_.running()) return -EBUSY;
    if (!key.valid()) return -EINVAL;
    if (MessageQueue::get().error != 0) return MessageQueue::get().error;
    const Handle answered(::CreateEventW(nullptr, TRUE, FALSE, nullptr));
    if (!answered) return negated_last_error();
    key_ = key;
    function_ = function;
    answered_ = answered.get();
    if (const int error = thread_.start(&serve, this); error != 0) return error;
    ::WaitForSingleObject(answered.get(), INFINITE);
    if (error_ != 0) end();
    return error_;
  }

  /// Stops the thread after the requested dumps; does nothing if not started. Must not be called
  /// inside DllMain, because no thread can end during DllMain.
  void stop() noexcept {
    if (!thread_.running()) return;
    // Retries, because the thread's message queue may be full of key presses.
    while (MessageQueue::get().post(thread_id_, WM_QUIT, 0, 0) == 0 &&
           ::GetLastError() == ERROR_NOT_ENOUGH_QUOTA) {
      ::Sleep(1);
    }
    end();
  }

  /// Returns the id of the thread that receives WM_HOTKEY between `start` and `stop`, otherwise 0.
  /// Posting WM_HOTKEY to this thread requests a dump, too.
  [[nodiscard]] DWORD thread_id() const noexcept { return thread_id_; }

 private:
  void end() noexcept {
    thread_.join();
    thread_id_ = 0;
  }

  static void serve(void* argument) noexcept {
    constexpr int kId = 1;
    auto& self = *static_cast<DumpKey*>(argument);
    const MessageQueue& queue = MessageQueue::get();
    MSG message{};
    // The first peek creates the thread's message queue.
    queue.peek(&message, nullptr, WM_USER, WM_USER, PM_NOREMOVE);
    const UINT modifiers = self.key_.modifiers | MOD_NOREPEAT;
    const bool registered = queue.register_key(nullptr, kId, modifiers, self.key_.key) != 0;
    self.answer(registered ? 0 : negated_last_error());
    if (!registered) return;
    // A negative result is an error.
    while (queue.next(&message, nullptr, 0, 0) > 0) {
      if (message.message == WM_HOTKEY) self.function_();
    }
    queue.unregister_key(nullptr, kId);
  }

  void answer(int error) noexcept {
    error_ = error == negated_error(ERROR_HOTKEY_ALREADY_REGISTERED) ? -EEXIST : error;
    thread_id_ = ::GetCurrentThreadId();
    ::SetEvent(answered_);
  }

  HotKey key_{};
  Function function_ = nullptr;
  HANDLE answered_ = nullptr;
  int error_ = 0;
  DWORD thread_id_ = 0;
  WorkerThread thread_;
};

/// One-line text for an error of `DumpKey::start`, without a newline.
class DumpKeyProblem {
 public:
  DumpKeyProblem(HotKey key, int error) noexcept {
    std::snprintf(text_.data(), text_.size(), "no dump on %s: %s", HotKeyName(key).c_str(),
                  reason(error));
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

 private:
  static const char* reason(int error) noexcept {
    switch (error) {
      case -EEXIST:
        return "another program, or another part of this one, has that key; choose another";
      case -EINVAL:
        return "it has to be a key from 1 to 0xFE together with Ctrl, Alt or Win";
      case -EBUSY:
        return "a key was started already; stop it first";
      default:
        return text_of_error(-error);
    }
  }

  std::array<char, 320> text_{};
};

}  // namespace alloctap::os
