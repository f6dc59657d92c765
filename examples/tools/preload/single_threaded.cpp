#include "single_threaded.hpp"

#include <alloctap/os/loaded_images.hpp>
#include <alloctap/os/thread_local.hpp>
#include <atomic>

/// Of glibc 2.32 and later, since 2.35 what it asks itself (<sys/single_threaded.h>): a program
/// that uses it has a copy, which is what every other module sees.
extern "C" [[gnu::weak]] char __libc_single_threaded;

namespace alloctap::run {
namespace {

/// The C library's own; nullptr where there is none. Looked up once, by the thread that starts the
/// tracker.
char* own_word() noexcept {
  static constinit bool known = false;
  static constinit char* word = nullptr;
  if (known) return word;
  const os::ErrnoGuard preserve_error;
  word = static_cast<char*>(os::next_symbol("__libc_single_threaded"));
  known = true;
  return word;
}

void set(bool single) noexcept {
  const char value = single ? 1 : 0;
  *own_word() = value;
  __libc_single_threaded = value;
}

}  // namespace

bool uncount_new_thread() noexcept {
  const os::ErrnoGuard preserve_error;
  // Of glibc 2.34 and later. Not linked to: it is private, and a later one may hide it.
  auto* const count = static_cast<unsigned*>(os::next_symbol("__nptl_nthreads"));
  if (count == nullptr) return false;
  std::atomic_ref<unsigned> threads(*count);
  if (threads.load() < 2) return false;
  threads.fetch_sub(1);
  return true;
}

SingleThreadedKept::SingleThreadedKept() noexcept
    : single_(own_word() != nullptr && *own_word() != 0) {}

SingleThreadedKept::~SingleThreadedKept() noexcept {
  if (single_) set(true);
}

void SingleThreadedKept::admit_others() const noexcept {
  if (single_) set(false);
}

}  // namespace alloctap::run
