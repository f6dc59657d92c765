/// A copy of the process of a test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::testing {

/// In memory that the process and its copy share.
struct FrozenNotes {
  std::atomic<std::uint32_t> go_on{0};
  std::atomic<int> ended{0};
  int number = 0;
  std::size_t threads = 0;
  std::uint64_t unread_bytes = 0;
};

/// Made when this is; waited for at the latest when this goes.
class FrozenMoment {
 public:
  /// `body` runs in the copy, and may not allocate.
  explicit FrozenMoment(void (*body)(FrozenNotes&), std::size_t room = 256)
      : body_(body), threads_(room) {
    notes_ = ::new (os::map_shared_pages(os::page_size())) FrozenNotes;
    stack_ = static_cast<std::byte*>(os::map_pages(os::kFreezeStack));
    error_ = copy_.start(
        {.body = &run, .argument = this, .stack = {stack_, os::kFreezeStack}, .threads = threads_});
  }
  ~FrozenMoment() {
    wait();
    os::unmap_pages(notes_, os::page_size());
    os::unmap_pages(stack_, os::kFreezeStack);
  }
  FrozenMoment(const FrozenMoment&) = delete;
  FrozenMoment& operator=(const FrozenMoment&) = delete;

  void wait() { copy_.wait(); }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] FrozenNotes& notes() { return *notes_; }
  [[nodiscard]] std::size_t unseen() const { return copy_.unseen(); }
  [[nodiscard]] std::span<const os::ThreadRegisters> threads() const { return threads_; }

 private:
  static void run(void* argument, const os::FrozenState& state) noexcept {
    auto& frozen = *static_cast<FrozenMoment*>(argument);
    frozen.notes_->threads = state.threads;
    frozen.notes_->unread_bytes = state.unread_bytes;
    frozen.body_(*frozen.notes_);
    frozen.notes_->ended = 1;
  }

  void (*body_)(FrozenNotes&);
  std::vector<os::ThreadRegisters> threads_;
  os::FrozenProcess copy_;
  FrozenNotes* notes_ = nullptr;
  std::byte* stack_ = nullptr;
  int error_ = 0;
};

}  // namespace alloctap::testing
