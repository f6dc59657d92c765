/// Requests for a dump from outside the process: a hot key, or a named event.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cwchar>

#include "alloctap/os/thread.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"

namespace alloctap::os {

/// A system-wide hot key, which Windows delivers to the program that registered it.
struct HotKey {
  /// Any of MOD_ALT, MOD_CONTROL, MOD_SHIFT and MOD_WIN.
  UINT modifiers = 0;
  /// Virtual key code: 'D', '0', VK_F9.
  UINT key = 0;

  /// Returns true if the key code exists and is combined with Alt, Control or Windows. Keys without
  /// such a modifier are needed to type text.
  [[nodiscard]] constexpr bool valid() const noexcept {
    constexpr UINT kNotForText = MOD_ALT | MOD_CONTROL | MOD_WIN;
    constexpr UINT kLast = 0xFE;
    return key > 0 && key <= kLast && (modifiers & kNotForText) != 0 &&
           (modifiers & ~(kNotForText | MOD_SHIFT)) == 0;
  }
};

/// A text such as "Ctrl+Alt+D". Keys other than letters, digits and F1 to F24 appear as numbers.
class HotKeyName {
 public:
  explicit HotKeyName(HotKey key) noexcept {
    std::array<char, 16> last{};
    const bool is_letter = key.key >= 'A' && key.key <= 'Z';
    const bool is_digit = key.key >= '0' && key.key <= '9';
    if (is_letter || is_digit) {
      last[0] = static_cast<char>(key.key);
    } else if (key.key >= VK_F1 && key.key <= VK_F24) {
      std::snprintf(last.data(), last.size(), "F%u", key.key - VK_F1 + 1);
    } else {
      std::snprintf(last.data(), last.size(), "key 0x%02X", key.key);
    }
    const auto name = [&](UINT modifier, const char* text) {
      return (key.modifiers & modifier) != 0 ? text : "";
    };
    std::snprintf(text_.data(), text_.size(), "%s%s%s%s%s", name(MOD_CONTROL, "Ctrl+"),
                  name(MOD_ALT, "Alt+"), name(MOD_SHIFT, "Shift+"), name(MOD_WIN, "Win+"),
                  last.data());
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

 private:
  std::array<char, 48> text_{};
};

/// Hot key and thread message functions of user32.dll; null pointers if `error` is set. Loaded at
/// first use, because user32.dll turns a process into a GUI process.
struct MessageQueue {
  decltype(&::RegisterHotKey) register_key = nullptr;
  decltype(&::UnregisterHotKey) unregister_key = nullptr;
  decltype(&::PeekMessageW) peek = nullptr;
  decltype(&::GetMessageW) next = nullptr;
  decltype(&::PostThreadMessageW) post = nullptr;
  int error = 0;

  static const MessageQueue& get() noexcept {
    static const MessageQueue queue = load();
    return queue;
  }

 private:
  template <class Function>
  void find(HMODULE library, const char* name, Function& function) noexcept {
    function = reinterpret_cast<Function>(reinterpret_cast<void*>(::GetProcAddress(library, name)));
    if (function == nullptr) error = negated_error(ERROR_PROC_NOT_FOUND);
  }

  static MessageQueue load() noexcept;
};

inline MessageQueue MessageQueue::load() noexcept {
  MessageQueue queue;
  const HMODULE library = ::LoadLibraryW(L"user32.dll");
  if (library == nullptr) {
    queue.error = negated_last_error();
    return queue;
  }
  queue.find(library, "RegisterHotKey", queue.register_key);
  queue.find(library, "UnregisterHotKey", queue.unregister_key);
  queue.find(library, "PeekMessageW", queue.peek);
  queue.find(library, "GetMessageW", queue.next);
  queue.find(library, "PostThreadMessageW", queue.post);
  return queue;
}

/// Calls a function, on a separate thread, each time a key is pressed, whichever program has the
/// focus. The function chooses what to dump, the format and the output:
///
///     constinit alloctap::os::DumpKey key;
///     constexpr alloctap::os::HotKey kKey{MOD_CONTROL | MOD_ALT, 'D'};  // MemoryWatcher's key
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
  /// error, which `DumpKeyProblem` formats: `-EEXIST` if another program or thread has registered
  /// the key, `-EINVAL` if `key` is not `valid()`, `-EBUSY` if this object is already started. Must
  /// not be called inside DllMain, because no thread can begin during DllMain.
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

  /// Starts the thread. Returns 0 or the negated system error: `-EBUSY` if this object is started
  /// already, `-EEXIST` if a process of this user already has an event of that name.
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
  /// The handle of the end event is first, so that `stop` has priority over requested dumps.
  std::array<HANDLE, 2> events_{};
  WorkerThread thread_;
};

}  // namespace alloctap::os
