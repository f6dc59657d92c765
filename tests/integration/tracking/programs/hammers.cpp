// Many threads that allocate, move and free all the time, with every block held by somebody, and
// one that forks. Meanwhile it asks for reports of itself, by SIGUSR1.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 64;

std::atomic<bool> done{false};

std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/// The scan is to get at a processor too.
void rest_now_and_then(int& rounds) {
  if (++rounds % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
}

/// Blocks that only an array holds, which is moved again and again.
void move_arrays(std::uint64_t random) {
  int rounds = 0;
  std::size_t capacity = 1;
  std::size_t count = 0;
  void** blocks = nullptr;
  while (!done) {
    rest_now_and_then(rounds);
    if (count + 1 >= capacity || blocks == nullptr) {
      capacity = capacity * 3 / 2 + 1;
      blocks = static_cast<void**>(std::realloc(blocks, capacity * sizeof(void*)));
    }
    blocks[count++] = std::malloc(next_random(random) % 200);
    if (count < 3000) continue;
    while (count > 10) std::free(blocks[--count]);
    capacity = 20;
    blocks = static_cast<void**>(std::realloc(blocks, capacity * sizeof(void*)));
  }
  while (count > 0) std::free(blocks[--count]);
  std::free(blocks);
}

void change_containers(std::uint64_t random) {
  int rounds = 0;
  std::map<std::uint64_t, std::string> texts;
  std::list<std::vector<int>> lists;
  while (!done) {
    rest_now_and_then(rounds);
    texts[next_random(random) % 500] = std::string(next_random(random) % 100, 'x');
    texts.erase(next_random(random) % 500);
    lists.emplace_back(next_random(random) % 50);
    if (lists.size() > 100) lists.pop_front();
  }
}

void fork_now_and_then() {
  while (!done) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::free(std::malloc(10));
      ::_exit(0);
    }
    // Whatever else the program may be a parent of is not its own.
    int status = 0;
    if (::waitpid(-1, &status, 0) != child) std::abort();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Reports are "report.N.json".
void ask_for_report(int number) {
  const std::string path = "report." + std::to_string(number) + ".json";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  ::kill(::getpid(), SIGUSR1);
  while (::access(path.c_str(), R_OK) != 0) {
    if (std::chrono::steady_clock::now() > deadline) std::abort();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

/// With the number of reports.
int main(int, char** argv) {
  std::vector<std::thread> threads;
  threads.emplace_back(fork_now_and_then);
  for (int i = 1; i < kThreads; ++i) {
    threads.emplace_back(i % 2 == 0 ? move_arrays : change_containers,
                         static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u);
  }
  for (int i = 1; i <= std::atoi(argv[1]); ++i) ask_for_report(i);
  done = true;
  for (std::thread& thread : threads) thread.join();
}
