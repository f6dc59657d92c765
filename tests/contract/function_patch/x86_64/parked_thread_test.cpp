// 17: threads that stand in a function, wherever that is, while it is patched and restored.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/contract/function_patch/targets.hpp"

namespace {

using alloctap::FunctionPatch;
using ReadTarget = decltype(&target_parked_read);

std::uintptr_t place_of(const void* code) { return reinterpret_cast<std::uintptr_t>(code); }

/// A thread that calls `target_parked_read` and waits in the system call.
class ParkedReader {
 public:
  ParkedReader() {
    REQUIRE(pipe(ends_.data()) == 0);
    thread_ = std::thread([this] {
      id_ = gettid();
      result_ = target_parked_read(ends_[0], &received_, 1);
    });
    while (place() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~ParkedReader() {
    if (thread_.joinable()) static_cast<void>(reads_on());
    close(ends_[0]);
    close(ends_[1]);
  }
  ParkedReader(const ParkedReader&) = delete;
  ParkedReader& operator=(const ParkedReader&) = delete;

  /// Where it goes on; 0 while it does not wait. See proc(5), "syscall".
  std::uintptr_t place() const {
    std::ifstream file("/proc/self/task/" + std::to_string(id_) + "/syscall");
    std::string word;
    if (id_ == 0 || !(file >> word) || word != "0") return 0;
    while (file >> word) continue;
    return std::stoul(word, nullptr, 16);
  }

  /// Lets it read; whether it read that and returned.
  bool reads_on() {
    const bool written = write(ends_[1], "x", 1) == 1;
    thread_.join();
    return written && result_ == 1 && received_ == 'x';
  }

 private:
  std::array<int, 2> ends_{};
  std::thread thread_;
  std::atomic<pid_t> id_{0};
  long result_ = 0;
  char received_ = 0;
};

std::atomic<ReadTarget> original_read{nullptr};
long read_on(int descriptor, void* buffer, std::size_t bytes) {
  return original_read.load()(descriptor, buffer, bytes);
}

FunctionPatch prepare_read(const void* replacement) {
  const auto* start = reinterpret_cast<const std::byte*>(&target_parked_read);
  const auto bytes = static_cast<std::size_t>(target_parked_read_end - start);
  auto patch = FunctionPatch::prepare({.address = start, .bytes = bytes}, replacement);
  REQUIRE(patch.ok());
  original_read = patch->original(&target_parked_read);
  return *std::move(patch);
}

/// With a replacement that nobody may reach, which leaves the function as it was.
void patch_many_times() {
  for (int i = 0; i < 100; ++i) {
    FunctionPatch patch = prepare_read(reinterpret_cast<const void*>(&std::abort));
    CHECK(patch.enable().ok());
  }
}

}  // namespace

TEST_CASE("a thread that waits between displaced instructions goes on in the trampoline") {
  ParkedReader reader;
  CHECK(reader.place() > place_of(reinterpret_cast<const void*>(&target_parked_read)));
  CHECK(reader.place() < place_of(target_parked_read_end));
  FunctionPatch patch = prepare_read(reinterpret_cast<const void*>(&std::abort));
  REQUIRE(patch.enable().ok());
  CHECK(reader.reads_on());
}

TEST_CASE("and in the function, if it is restored by then") {
  ParkedReader reader;
  patch_many_times();
  CHECK(reader.reads_on());
}

TEST_CASE("a thread that waits in the original goes on there when the function is restored") {
  FunctionPatch patch = prepare_read(reinterpret_cast<const void*>(&read_on));
  REQUIRE(patch.enable().ok());
  ParkedReader reader;
  const std::uintptr_t trampoline = place_of(reinterpret_cast<const void*>(original_read.load()));
  CHECK(reader.place() > trampoline);
  CHECK(reader.place() < trampoline + alloctap::arch::EntryPatch::kIslandBytes);
  REQUIRE(patch.disable().ok());
  {
    const FunctionPatch gone = std::move(patch);
  }
  patch_many_times();
  CHECK(reader.reads_on());
}
