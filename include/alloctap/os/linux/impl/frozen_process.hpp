/// Definitions for os/linux/frozen_process.hpp.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/os/linux/frozen_process.hpp"
#include "alloctap/os/linux/process.hpp"
#include "alloctap/os/linux/raw_system_call.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE int OpenedMemory::open() noexcept {
  int error = 0;
  int ignored = 0;
  map = open_for_reading(OwnProcPath("maps").text(), error);
  page_map = open_for_reading(OwnProcPath("pagemap").text(), ignored);
  memory = open_for_reading(OwnProcPath("mem").text(), ignored);
  return error;
}

ALLOCTAP_INLINE void UnforkedMemory::fetch() noexcept {
  int error = 0;
  const File own = open_for_reading(OwnProcPath("pagemap").text(), error);
  char buffer[4 * kMemoryMapLine];
  visit_memory_map(parent_.map.descriptor(), buffer, [&](const MemoryRegion& region) {
    const bool is_code = region.executable && !region.writable;
    if (is_code || is_out_of_reach(region) || region.path.starts_with("[v")) return true;
    if (!is_mapped(region.start)) {
      fetch_missing(region);
    } else if (is_plain(region) && is_wiped(region, own.descriptor())) {
      fetch_wiped(region);
    }
    return true;
  });
}

ALLOCTAP_INLINE bool UnforkedMemory::has_page(int page_map, const MemoryRegion& region) noexcept {
  if (const auto known = has_found_page(page_map, region.start, region.end)) return *known;
  // Before Linux 6.7, searches page by page. To save time, assumes that large mappings have pages.
  const std::size_t step = 1024 * page_size();
  bool found = region.end - region.start > kMaxListed;
  for (std::uintptr_t at = region.start; at < region.end && !found;) {
    const std::uintptr_t end = std::min(region.end, at + step);
    found = visit_listed_pages(page_map, at, end, [&](auto, auto) { found = true; }) < end || found;
    at = end;
  }
  return found;
}

ALLOCTAP_INLINE void UnforkedMemory::fetch_missing(const MemoryRegion& region) noexcept {
  const long place =
      ::syscall(SYS_mmap, region.start, region.end - region.start, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0L);
  if (static_cast<std::uintptr_t>(place) != region.start) {
    unread_bytes_ += region.end - region.start;
    return;
  }
  if (is_plain(region)) {
    fetch_pages(region);
  } else {
    fetch(region.start, region.end);
  }
  protect_again(region);
}

ALLOCTAP_INLINE void UnforkedMemory::fetch_wiped(const MemoryRegion& region) noexcept {
  if (!region.writable) protect(region, PROT_READ | PROT_WRITE);
  fetch_pages(region);
  protect_again(region);
}

ALLOCTAP_INLINE void UnforkedMemory::fetch(std::uintptr_t start, std::uintptr_t end) noexcept {
  const std::size_t page = page_size();
  const std::uint64_t left = parent_.memory.is_open() ? kMaxBytes - fetched_bytes_ : 0;
  const std::uintptr_t wanted = std::min(end - start, left);
  unread_bytes_ += end - start - wanted;
  fetched_bytes_ += wanted;
  for (end = start + wanted; start < end;) {
    const long count = ::syscall(SYS_pread64, parent_.memory.descriptor(), start, end - start,
                                 static_cast<long>(start));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) unread_bytes_ += page;
    start += count > 0 ? static_cast<std::uintptr_t>(count) : page;
  }
}

ALLOCTAP_INLINE void* map_shared_pages(std::size_t bytes) noexcept {
  const long result = ::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);
}

ALLOCTAP_INLINE std::size_t count_threads() noexcept {
  std::size_t count = 0;
  TaskList::of_this_process().visit([&count](ThreadId, ThreadId) { ++count; });
  return std::max<std::size_t>(count, 1);
}

[[noreturn]] ALLOCTAP_INLINE void run_in_copy(CopyJob& job, const OpenedMemory& parent,
                                              File& has_all) noexcept {
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  UnforkedMemory memory(parent);
  memory.fetch();
  has_all.close();
  job.state.unread_bytes = memory.unread_bytes();
  job.request->body(job.request->argument, job.state);
  for (;;) raw_system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

ALLOCTAP_INLINE long fork_copy(CopyJob& job, unsigned long flags) noexcept {
  OpenedMemory own;
  if (const int error = own.open(); error != 0) return error;
  int ends[2];
  if (::syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) return -errno;
  const File reader(ends[0]);
  File writer(ends[1]);
  const long copy = ::syscall(SYS_clone, flags, 0, 0, 0, 0);
  if (copy == 0) run_in_copy(job, own, writer);
  if (copy < 0) return -errno;
  writer.close();
  char nothing[1];
  read_some(reader.descriptor(), nothing);
  return copy;
}

ALLOCTAP_INLINE int stop_and_copy(void* argument) noexcept {
  CopyJob& job = *static_cast<CopyJob*>(argument);
  while (job.may_begin.load(std::memory_order_acquire) == 0) futex_wait(job.may_begin, 0);
  ThreadStops stops(*job.tasks, job.caller, job.request->threads);
  stops.stop_all();
  job.state = {.threads = stops.count(), .unseen = stops.unseen()};
  job.copy = fork_copy(job, CLONE_PARENT);
  stops.release();
  // Ends this process by a return, so that AddressSanitizer unpoisons the memory around the frame.
  return 0;
}

ALLOCTAP_INLINE bool LeaveToTrace::restricted() noexcept {
  int error = 0;
  const File file = open_for_reading("/proc/sys/kernel/yama/ptrace_scope", error);
  char scope[2] = {};
  return error == 0 && read_some(file.descriptor(), scope) > 0 && scope[0] != '0';
}

ALLOCTAP_INLINE bool has_namespace_for_children() noexcept {
  const auto read = [](const char* path, std::span<char> link) {
    return ::syscall(SYS_readlinkat, AT_FDCWD, path, link.data(), link.size());
  };
  char own[64] = {};
  char childrens[64] = {};
  struct stat exists{};
  return ::lstat("/proc/thread-self/ns/pid_for_children", &exists) == 0 &&
         read("/proc/thread-self/ns/pid", own) > 0 &&
         (read("/proc/thread-self/ns/pid_for_children", childrens) <= 0 ||
          std::strcmp(own, childrens) != 0);
}

ALLOCTAP_INLINE void copy_unstopped(CopyJob& job) noexcept {
  job.tasks->visit(
      [&](ThreadId task, ThreadId) { job.state.unseen += task != job.caller ? 1 : 0; });
  job.copy = fork_copy(job, 0);
  if (job.copy == -EINVAL && ends_of_processes_go_unnoticed()) {
    job.copy = fork_copy(job, SIGCHLD);
  }
}

}  // namespace alloctap::os
