// Messages that one thread makes and another one frees, or, with one thread, the same one a little
// later. Each is three blocks: itself, its text, its values.
//
// usage: producer_consumer THREADS MESSAGES   (1 or 2 threads; an operation is a message)
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct Message {
  std::string text;
  std::vector<std::uint32_t> values;
};

using Batch = std::vector<std::unique_ptr<Message>>;

constexpr std::size_t kBatchMessages = 256;
constexpr std::size_t kWaitingBatches = 32;

Batch produce(std::uint64_t first) {
  Batch batch;
  batch.reserve(kBatchMessages);
  for (std::uint64_t i = first; i < first + kBatchMessages; ++i) {
    auto message = std::make_unique<Message>();
    message->text.assign(20 + i % 100, 'm');
    message->values.assign(4 + i % 60, static_cast<std::uint32_t>(i));
    batch.push_back(std::move(message));
  }
  return batch;
}

std::uint64_t consume(const Batch& batch) {
  std::uint64_t sum = 0;
  for (const auto& message : batch) sum += message->text.size() + message->values.back();
  return sum;
}

/// For one producer and one consumer. Each is woken once in many batches: a program that sleeps and
/// wakes for each would measure the scheduler.
class BoundedQueue {
 public:
  void push(Batch batch) {
    std::unique_lock hold(lock_);
    changed_.wait(hold, [this] { return waiting_.size() < kWaitingBatches; });
    waiting_.push_back(std::move(batch));
    if (waiting_.size() == kWaitingBatches / 2) changed_.notify_one();
  }

  /// No more will come.
  void close() {
    const std::lock_guard hold(lock_);
    closed_ = true;
    changed_.notify_one();
  }

  /// Empty when the queue is closed and everything was taken.
  Batch pop() {
    std::unique_lock hold(lock_);
    if (waiting_.empty()) {
      changed_.wait(hold, [this] { return closed_ || waiting_.size() >= kWaitingBatches / 2; });
    }
    if (waiting_.empty()) return {};
    Batch batch = std::move(waiting_.front());
    waiting_.pop_front();
    if (waiting_.size() == kWaitingBatches / 2) changed_.notify_one();
    return batch;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Batch> waiting_;
  bool closed_ = false;
};

std::uint64_t run_on_one_thread(std::uint64_t batches) {
  std::uint64_t sum = 0;
  std::deque<Batch> waiting;
  for (std::uint64_t i = 0; i < batches; ++i) {
    waiting.push_back(produce(i * kBatchMessages));
    if (waiting.size() < kWaitingBatches) continue;
    sum += consume(waiting.front());
    waiting.pop_front();
  }
  for (const Batch& batch : waiting) sum += consume(batch);
  return sum;
}

std::uint64_t run_on_two_threads(std::uint64_t batches) {
  BoundedQueue queue;
  std::thread producer([&queue, batches] {
    for (std::uint64_t i = 0; i < batches; ++i) queue.push(produce(i * kBatchMessages));
    queue.close();
  });
  std::uint64_t sum = 0;
  for (Batch batch = queue.pop(); !batch.empty(); batch = queue.pop()) sum += consume(batch);
  producer.join();
  return sum;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string threads = count == 3 ? arguments[1] : "";
  if (threads != "1" && threads != "2") {
    std::fputs("usage: producer_consumer 1|2 MESSAGES\n", stderr);
    return 2;
  }
  const std::uint64_t batches = std::stoull(arguments[2]) / kBatchMessages;
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t sum =
      threads == "1" ? run_on_one_thread(batches) : run_on_two_threads(batches);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("{\"operations\": %llu, \"seconds\": %.6f, \"sum\": %llu}\n",
              static_cast<unsigned long long>(batches * kBatchMessages), elapsed.count(),
              static_cast<unsigned long long>(sum));
}
