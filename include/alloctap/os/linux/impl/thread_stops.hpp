/// Definitions for os/linux/thread_stops.hpp.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>

#include <charconv>

#include "alloctap/macros.hpp"
#include "alloctap/os/linux/thread_stops.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE TaskList TaskList::of_this_process() noexcept {
  TaskList list;
  int error = 0;
  list.directory_ = open_file("/proc/self/task", O_RDONLY | O_DIRECTORY, error);
  char name[16] = {};
  const long length = ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", name, sizeof name);
  list.is_foreign_ = length > 0 && parse(name) != current_process_id();
  return list;
}

ALLOCTAP_INLINE char TaskList::state(ThreadId id) const noexcept {
  ThreadId listed = is_foreign_ ? 0 : id;
  if (is_foreign_) {
    visit_listed([&](ThreadId other) { listed = own_id(other) == id ? other : listed; });
  }
  return state_of_listed(listed);
}

ALLOCTAP_INLINE char TaskList::state_of_listed(ThreadId listed) const noexcept {
  char text[512];
  const auto count = static_cast<std::ptrdiff_t>(read(listed, "/stat", text).size());
  // Searches from the end, because the thread name before the state may contain any characters.
  for (std::ptrdiff_t at = count - 3; at > 0; --at) {
    if (text[at] == ')') return text[at + 2];
  }
  return '\0';
}

ALLOCTAP_INLINE ThreadId TaskList::parse(std::string_view text) noexcept {
  ThreadId id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id;
}

ALLOCTAP_INLINE ThreadId TaskList::own_id(ThreadId listed) const noexcept {
  if (!is_foreign_) return listed;
  char buffer[4096];
  std::string_view text = read(listed, "/status", buffer);
  const std::size_t begin = text.find("\nNSpid:");
  if (begin == text.npos) return 0;
  text = text.substr(begin + 1);
  text = text.substr(0, text.find('\n'));
  return parse(text.substr(text.find_last_of(" \t") + 1));
}

ALLOCTAP_INLINE std::string_view TaskList::read(ThreadId listed, std::string_view file,
                                                std::span<char> buffer) const noexcept {
  char path[32] = {};
  char* const end = std::to_chars(path, path + 16, listed).ptr;
  std::copy(file.begin(), file.end(), end);
  const long descriptor =
      ::syscall(SYS_openat, directory_.descriptor(), path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const File opened(static_cast<int>(descriptor));
  const std::ptrdiff_t count = read_some(opened.descriptor(), buffer);
  return {buffer.data(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0))};
}

ALLOCTAP_INLINE void ThreadStops::stop_all() noexcept {
  give_up_ = monotonic_ns() + kFreezeTimeoutNs;
  for (bool more = true; more;) {
    const std::size_t before = count_;
    without_room_ = 0;
    tasks_.visit([this](ThreadId task, ThreadId listed) { seize(task, listed); });
    for (std::size_t i = before; i < count_; ++i) await(threads_[i]);
    more = count_ > before;
  }
}

ALLOCTAP_INLINE void ThreadStops::release() noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const ThreadRegisters& thread = threads_[i];
    if (thread.seen) ::ptrace(PTRACE_DETACH, thread.id, nullptr, thread.values.back());
  }
}

ALLOCTAP_INLINE std::size_t ThreadStops::unseen() const noexcept {
  const auto threads = threads_.first(count_);
  return without_room_ + static_cast<std::size_t>(std::count_if(
                             threads.begin(), threads.end(), [](const ThreadRegisters& thread) {
                               return !thread.seen && thread.id != 0;
                             }));
}

ALLOCTAP_INLINE void ThreadStops::seize(ThreadId task, ThreadId listed) noexcept {
  const auto known = threads_.first(count_);
  const auto same = [task](const ThreadRegisters& thread) { return thread.id == task; };
  if (task == left_out_ || std::any_of(known.begin(), known.end(), same)) return;
  if (count_ == threads_.size()) {
    ++without_room_;
    return;
  }
  const bool seized = ::ptrace(PTRACE_SEIZE, task, nullptr, nullptr) == 0 &&
                      ::ptrace(PTRACE_INTERRUPT, task, nullptr, nullptr) == 0;
  const char state = seized ? 'R' : tasks_.state_of_listed(listed);
  // Skips ended threads, which have no registers. An ended main thread stays listed.
  if (state == '\0' || state == 'Z' || state == 'X') return;
  ThreadRegisters& thread = threads_[count_++];
  thread.id = task;
  thread.seen = seized;
  thread.count = thread.general_count = 0;
  thread.has_red_zone = true;
}

ALLOCTAP_INLINE void ThreadStops::await(ThreadRegisters& thread) noexcept {
  if (!thread.seen) return;
  int status = 0;
  for (int round = 0;; ++round) {
    const long waited = ::syscall(SYS_wait4, thread.id, &status, __WALL | WNOHANG, nullptr);
    if (waited == thread.id) break;
    const bool gone = waited < 0 && errno != EINTR;
    if (gone || (round % 64 == 63 && will_not_stop(thread.id, round))) {
      thread.seen = false;
      if (gone) thread.id = 0;
      return;
    }
    pause(round);
  }
  if (!WIFSTOPPED(status)) {
    thread = {};
    return;
  }
  thread.seen = read(thread, status);
}

ALLOCTAP_INLINE void ThreadStops::pause(int round) noexcept {
  constexpr int kSpins = 64;
  const timespec nap{.tv_sec = 0, .tv_nsec = 20'000};
  if (round < kSpins) {
    ::syscall(SYS_sched_yield);
  } else {
    ::syscall(SYS_nanosleep, &nap, nullptr);
  }
}

ALLOCTAP_INLINE bool ThreadStops::read(ThreadRegisters& thread, int status) noexcept {
  Registers registers{};
  iovec general{.iov_base = &registers, .iov_len = sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, thread.id, NT_PRSTATUS, &general) != 0) return false;
  thread.count = thread.general_count = note_general(thread, registers);
  if (!is_in_call(registers)) thread.count += read_vectors(thread);
  const bool on_way_to_signal = status >> 16 != PTRACE_EVENT_STOP;
  thread.values.back() = on_way_to_signal ? static_cast<std::uintptr_t>(WSTOPSIG(status)) : 0;
  if (!on_way_to_signal) begin_call_again(thread.id, registers, general);
  const bool noted = note_places(thread, registers);
  thread.thread_storage = thread.thread_pointer;
  return noted;
}

}  // namespace alloctap::os
