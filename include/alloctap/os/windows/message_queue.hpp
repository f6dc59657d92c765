/// Hot key and thread message functions of user32.dll. Loaded at first use, because loading that
/// library turns a process into one with windows.
#pragma once

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"

namespace alloctap::os {

/// The functions; null pointers if `error` is set.
struct MessageQueue {
  decltype(&::RegisterHotKey) register_key = nullptr;
  decltype(&::UnregisterHotKey) unregister_key = nullptr;
  decltype(&::PeekMessageW) peek = nullptr;
  decltype(&::GetMessageW) next = nullptr;
  decltype(&::PostThreadMessageW) post = nullptr;
  int error = 0;

  /// Returns the functions; the first call loads the library.
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

}  // namespace alloctap::os
