/// A copy of the process of a test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "alloctap/os/process_copy.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::testing {

/// In memory that the process and its copy share.
struct CopyNotes {
  std::atomic<std::uint32_t> go_on{0};
  std::atomic<int> ended{0};
  int number = 0;
  std::size_t threads = 0;
};

/// Made when this is; waited for at the latest when this goes.
class CopiedProcess {
 public:
  /// `body` runs in the copy, and may not allocate.
  explicit CopiedProcess(void (*body)(CopyNotes&), std::size_t room = 256)
      : body_(body), threads_(room) {
    notes_ = ::new (os::map_shared_pages(os::page_size())) CopyNotes;
    stack_ = static_cast<std::byte*>(os::map_pages(os::kCopyStack));
    error_ = copy_.start(
        {.body = &run, .argument = this, .stack = {stack_, os::kCopyStack}, .threads = threads_});
  }
  ~CopiedProcess() {
    wait();
    os::unmap_pages(notes_, os::page_size());
    os::unmap_pages(stack_, os::kCopyStack);
  }
  CopiedProcess(const CopiedProcess&) = delete;
  CopiedProcess& operator=(const CopiedProcess&) = delete;

  void wait() { copy_.wait(); }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] CopyNotes& notes() { return *notes_; }
  [[nodiscard]] std::size_t unseen() const { return copy_.unseen(); }
  [[nodiscard]] std::span<const os::ThreadRegisters> threads() const { return threads_; }

 private:
  static void run(void* argument, std::size_t threads, std::size_t) noexcept {
    auto& copied = *static_cast<CopiedProcess*>(argument);
    copied.notes_->threads = threads;
    copied.body_(*copied.notes_);
    copied.notes_->ended = 1;
  }

  void (*body_)(CopyNotes&);
  std::vector<os::ThreadRegisters> threads_;
  os::ProcessCopy copy_;
  CopyNotes* notes_ = nullptr;
  std::byte* stack_ = nullptr;
  int error_ = 0;
};

}  // namespace alloctap::testing
