/// Stop-the-world by suspending all other threads while the body runs.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/thread.hpp"
#include "alloctap/os/windows/thread_local.hpp"

namespace alloctap::os {

/// Stops the other threads of the process. NtSuspendThread is asynchronous; NtGetContextThread then
/// waits until the thread has stopped. A thread in a system call stops before the call returns,
/// with the registers it had at the call.
class ThreadStops {
 public:
  /// Stores handles and registers in the given arrays.
  ThreadStops(std::span<HANDLE> handles, std::span<ThreadRegisters> threads) noexcept
      : handles_(handles), threads_(threads.first(std::min(handles.size(), threads.size()))) {}
  ThreadStops(const ThreadStops&) = delete;
  ThreadStops& operator=(const ThreadStops&) = delete;

  /// Stops all threads; lists them repeatedly until no new thread appears. If a thread is stopped
  /// while it creates another, the new thread does not begin to run.
  void stop_all() noexcept {
    for (bool more = true; more;) {
      const std::size_t before = count_;
      without_room_ = 0;
      visit_threads([this](Handle& thread) { stop(thread); });
      for (std::size_t i = before; i < count_; ++i) read(i);
      more = count_ > before;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      ThreadRegisters& thread = threads_[i];
      if (!thread.seen) read(i);
      if (!thread.seen && handles_[i] != nullptr) thread.seen = holds_nothing(handles_[i]);
    }
  }

  /// Resumes all threads. Called once.
  void release() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (handles_[i] == nullptr) continue;
      ::NtResumeThread(handles_[i], nullptr);
      ::CloseHandle(handles_[i]);
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Returns the number of threads that could not be stopped.
  [[nodiscard]] std::size_t unseen() const noexcept {
    const auto threads = threads_.first(count_);
    return without_room_ +
           static_cast<std::size_t>(std::count_if(threads.begin(), threads.end(),
                                                  [](const auto& thread) { return !thread.seen; }));
  }

 private:
  void stop(Handle& handle) noexcept {
    const auto id = static_cast<ThreadId>(::GetThreadId(handle.get()));
    const auto known = threads_.first(count_);
    const auto same = [id](const ThreadRegisters& thread) { return thread.id == id; };
    if (std::any_of(known.begin(), known.end(), same)) return;
    if (count_ == threads_.size()) {
      ++without_room_;
      return;
    }
    const NTSTATUS status = ::NtSuspendThread(handle.get(), nullptr);
    if (status < 0 && has_ended(handle.get(), status)) return;
    threads_[count_].id = id;
    threads_[count_].seen = false;
    threads_[count_].count = threads_[count_].general_count = 0;
    threads_[count_].has_red_zone = true;
    handles_[count_] = status >= 0 ? handle.release() : nullptr;
    ++count_;
  }

  /// Waits until the thread has stopped and stores its registers.
  void read(std::size_t i) noexcept {
    ThreadRegisters& thread = threads_[i];
    const TEB* const block = handles_[i] == nullptr ? nullptr : block_of(handles_[i]);
    if (block == nullptr) return;
    CONTEXT context{};
    context.ContextFlags = CONTEXT_FULL;
    if (::NtGetContextThread(handles_[i], &context) < 0) return;
    static_assert(sizeof context <= sizeof thread.values);
    std::memcpy(thread.values.data(), &context, sizeof context);
    thread.count = sizeof context / sizeof(std::uintptr_t);
    thread.stack_pointer = context.Rsp;
    thread.thread_pointer = stack_end(*block);
    thread.thread_storage = reinterpret_cast<std::uintptr_t>(block);
    thread.seen = true;
  }

  /// Returns true if the thread has no TEB or has ended, and so has no pointers.
  static bool holds_nothing(HANDLE handle) noexcept {
    return block_of(handle) == nullptr || has_ended(handle, 0);
  }

  static const TEB* block_of(HANDLE handle) noexcept {
    struct Answer {
      NTSTATUS exit_status;
      TEB* block;
      void* process;
      void* thread;
      ULONG_PTR affinity;
      LONG priority;
      LONG base_priority;
    } answer{};
    const NTSTATUS status = ::NtQueryInformationThread(handle, static_cast<THREADINFOCLASS>(0),
                                                       &answer, sizeof answer, nullptr);
    return status < 0 ? nullptr : answer.block;
  }

  std::span<HANDLE> handles_;
  std::span<ThreadRegisters> threads_;
  std::size_t count_ = 0;
  std::size_t without_room_ = 0;
};

/// Returns false, because Wine cannot copy processes (PssCaptureSnapshot).
[[nodiscard]] constexpr bool can_copy_process() noexcept { return false; }

inline void* map_shared_pages(std::size_t bytes) noexcept { return map_pages(bytes); }

inline bool may_copy_process() noexcept { return true; }

inline std::size_t count_threads() noexcept {
  std::size_t count = 0;
  visit_threads([&count](Handle&) { ++count; });
  return std::max<std::size_t>(count, 1);
}

inline int FrozenProcess::start(const FreezeRequest& request) noexcept {
  const ErrnoGuard preserve_error;
  const std::size_t room = request.stack.size() / sizeof(HANDLE);
  ThreadStops stops({reinterpret_cast<HANDLE*>(request.stack.data()), room}, request.threads);
  {
    // Holds the lock for freeing pages, so that no stopped thread holds it.
    const PageRelease hold;
    stops.stop_all();
  }
  unseen_ = stops.unseen();
  request.body(request.argument, {.threads = stops.count(), .unseen = unseen_});
  stops.release();
  return 0;
}

inline void FrozenProcess::wait() noexcept {}

}  // namespace alloctap::os
