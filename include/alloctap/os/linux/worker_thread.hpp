#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstdint>

#include "alloctap/os/worker_thread.hpp"

namespace alloctap::os {

inline void* run_worker(void* thread) noexcept {
  const auto& worker = *static_cast<const WorkerThread*>(thread);
  worker.body_(worker.argument_);
  return nullptr;
}

inline int WorkerThread::start(void (*body)(void*) noexcept, void* argument) noexcept {
  static_assert(sizeof(pthread_t) <= sizeof(handle_));
  body_ = body;
  argument_ = argument;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle{};
  const int error = ::pthread_create(&handle, nullptr, &run_worker, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  handle_ = handle;
  running_ = error == 0;
  return -error;
}

inline void WorkerThread::join() noexcept {
  if (!running_) return;
  ::pthread_join(static_cast<pthread_t>(handle_), nullptr);
  running_ = false;
}

}  // namespace alloctap::os
