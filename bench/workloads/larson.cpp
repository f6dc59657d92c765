// A server's use of memory after Larson and Krishnan, "Memory allocation for long-running server
// applications" (ISMM 1998): every thread replaces blocks at random among those that live, and
// leaves them to a thread that takes its place, so that many are freed by others.
//
// usage: larson THREADS OPERATIONS   (an operation: a block freed and one allocated)
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBlocksPerThread = 5'000;
constexpr std::size_t kSmallest = 8;
constexpr std::size_t kLargest = 1'000;
constexpr std::uint64_t kOperationsPerGeneration = 250'000;

class Server {
 public:
  explicit Server(unsigned seed) : random_(seed), blocks_(kBlocksPerThread) {
    for (void*& block : blocks_) block = new_block();
  }
  Server(Server&&) = default;
  ~Server() {
    for (void* block : blocks_) std::free(block);
  }

  void replace_blocks(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; ++i) {
      void*& block = blocks_[random_() % kBlocksPerThread];
      std::free(block);
      block = new_block();
    }
  }

 private:
  void* new_block() {
    const std::size_t bytes = kSmallest + random_() % (kLargest - kSmallest);
    auto* block = static_cast<volatile char*>(std::malloc(bytes));
    if (block == nullptr) std::abort();
    block[0] = 1;
    block[bytes - 1] = 1;
    return const_cast<char*>(block);
  }

  std::minstd_rand random_;
  std::vector<void*> blocks_;
};

/// One thread after the other, each with the blocks of the one before.
void serve(unsigned seed, std::uint64_t operations) {
  Server server(seed);
  while (operations > 0) {
    const std::uint64_t part = std::min(operations, kOperationsPerGeneration);
    std::thread([&server, part] { server.replace_blocks(part); }).join();
    operations -= part;
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: larson THREADS OPERATIONS\n", stderr);
    return 2;
  }
  const auto threads = static_cast<unsigned>(std::stoul(arguments[1]));
  const std::uint64_t operations = std::stoull(arguments[2]) / threads;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> servers;
  for (unsigned i = 0; i < threads; ++i) servers.emplace_back(serve, i + 1, operations);
  for (std::thread& server : servers) server.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("{\"operations\": %llu, \"seconds\": %.6f}\n",
              static_cast<unsigned long long>(operations * threads), elapsed.count());
}
