/// What the C library thinks of the number of threads.
///
/// As long as glibc has made no second thread, its allocator, its mutexes and its streams go
/// without locks and atomic instructions, and what sets a process's user and group ids asks no
/// other thread to do the same. The thread that writes reports would end that for every program,
/// which costs one that allocates much an eighth of its time. It allocates nothing from the C
/// library and takes none of its locks (`final_report.hpp`), so it need not be counted.
#pragma once

namespace alloctap::run {

/// Takes a thread that was just made out of glibc's count of threads: the last counted thread to
/// leave calls exit, so the program ends as if the other one did not exist. Returns false where the
/// C library shows no count. Precondition: the program has no thread that may leave meanwhile.
/// Control plane.
[[nodiscard]] bool uncount_new_thread() noexcept;

/// Keeps what the C library thinks from its construction to its destruction: a thread made between
/// them is not counted. Restores the truth only if that was "one thread", since then the calling
/// thread is the only one that can make another. Not for signal handlers; leaves errno alone.
class SingleThreadedKept {
 public:
  SingleThreadedKept() noexcept;
  ~SingleThreadedKept() noexcept;
  SingleThreadedKept(const SingleThreadedKept&) = delete;
  SingleThreadedKept& operator=(const SingleThreadedKept&) = delete;

  /// Has the C library count on other threads meanwhile.
  void admit_others() const noexcept;

 private:
  bool single_;
};

}  // namespace alloctap::run
