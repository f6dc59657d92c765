// 17: threads that wait in the instruction that is replaced, and in the place where it was moved
// to.
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/contract/function_patch/targets.hpp"

namespace {

using alloctap::FunctionPatch;

/// A thread that waits for a byte, in a system call that `function` begins with.
class ParkedThread {
 public:
  explicit ParkedThread(const void* function) {
    REQUIRE(pipe(ends_.data()) == 0);
    thread_ = std::thread([this, function] {
      reader_ = gettid();
      result_ = target_parked_read(ends_[0], &received_, 1, function);
    });
    while (!is_waiting()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~ParkedThread() {
    close(ends_[0]);
    close(ends_[1]);
  }
  ParkedThread(const ParkedThread&) = delete;
  ParkedThread& operator=(const ParkedThread&) = delete;

  /// Whether it read the byte, and returned.
  bool goes_on() {
    const bool written = write(ends_[1], "x", 1) == 1;
    thread_.join();
    return written && result_ == 1 && received_ == 'x';
  }

 private:
  /// 0: read, where an emulator runs on x86-64.
  bool is_waiting() const {
    std::ifstream file("/proc/self/task/" + std::to_string(reader_) + "/syscall");
    std::string number;
    return reader_ != 0 && file >> number && (number == std::to_string(SYS_read) || number == "0");
  }

  std::array<int, 2> ends_{};
  char received_ = 0;
  long result_ = 0;
  std::atomic<pid_t> reader_{0};
  std::thread thread_;
};

FunctionPatch prepare_parked_call() {
  const auto bytes = static_cast<std::size_t>(target_parked_call_end - target_parked_call);
  auto patch = FunctionPatch::prepare({.address = target_parked_call, .bytes = bytes},
                                      reinterpret_cast<const void*>(&std::abort));
  REQUIRE(patch.ok());
  return *std::move(patch);
}

}  // namespace

TEST_CASE("a thread that waits in the instruction that is replaced goes on behind it") {
  ParkedThread thread(target_parked_call);
  const FunctionPatch patched = [] {
    FunctionPatch patch = prepare_parked_call();
    REQUIRE(patch.enable().ok());
    return patch;
  }();
  CHECK(thread.goes_on());
}

TEST_CASE("a thread that waits in the trampoline returns, whatever became of the patch") {
  const auto trampoline = [] {
    return reinterpret_cast<const void*>(prepare_parked_call().original(&std::abort));
  };
  ParkedThread thread(trampoline());
  {
    FunctionPatch patch = prepare_parked_call();
    REQUIRE(patch.enable().ok());
    REQUIRE(patch.disable().ok());
  }
  CHECK(thread.goes_on());
}
