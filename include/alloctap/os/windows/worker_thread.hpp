#pragma once

#include <cstdint>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/worker_thread.hpp"

namespace alloctap::os {

inline void* run_worker(void* thread) noexcept {
  const auto& worker = *static_cast<const WorkerThread*>(thread);
  worker.body_(worker.argument_);
  return nullptr;
}

inline DWORD WINAPI worker_entry(void* thread) noexcept {
  run_worker(thread);
  return 0;
}

/// Blocks no signals, because Windows has none.
inline int WorkerThread::start(void (*body)(void*) noexcept, void* argument) noexcept {
  body_ = body;
  argument_ = argument;
  const HANDLE thread = ::CreateThread(nullptr, 0, &worker_entry, this, 0, nullptr);
  handle_ = reinterpret_cast<std::uintptr_t>(thread);
  running_ = thread != nullptr;
  return running_ ? 0 : negated_last_error();
}

inline void WorkerThread::join() noexcept {
  if (!running_) return;
  const auto thread = reinterpret_cast<HANDLE>(static_cast<std::uintptr_t>(handle_));
  ::WaitForSingleObject(thread, INFINITE);
  ::CloseHandle(thread);
  running_ = false;
}

}  // namespace alloctap::os
