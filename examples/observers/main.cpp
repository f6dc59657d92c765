// A game that wants to know at once, not in a report: which blocks are large, and what does this
// level hold? Observers are called with each block as it comes and goes.
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/observe/observer_list.hpp>
#include <alloctap/observe/observers.hpp>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>

/// Part of the tracker: sees every block, from its start on.
struct LargestBlock {
  static void on_track(const alloctap::ObservedBlock& block) noexcept {
    std::size_t before = bytes.load();
    while (block.size > before && !bytes.compare_exchange_weak(before, block.size)) {
    }
  }
  static void on_untrack(const alloctap::ObservedBlock&) noexcept {}
  static inline std::atomic<std::size_t> bytes{0};
};

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Observers = alloctap::Observers<LargestBlock, alloctap::ObserverList<>>;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

/// Sees the blocks of its own time.
class LevelMemory {
 public:
  [[nodiscard]] std::int64_t grown() const { return bytes_; }

 private:
  static LevelMemory& of(void* context) { return *static_cast<LevelMemory*>(context); }

  std::atomic<std::int64_t> bytes_{0};
  alloctap::ListedObserver<> observer_{
      {.context = this,
       .on_track =
           [](void* context, const alloctap::ObservedBlock& block) noexcept {
             of(context).bytes_ += static_cast<std::int64_t>(block.size);
           },
       .on_untrack =
           [](void* context, const alloctap::ObservedBlock& block) noexcept {
             of(context).bytes_ -= static_cast<std::int64_t>(block.size);
           }}};
};

std::unique_ptr<char[]> music;
std::unique_ptr<char[]> map;

int main() {
  const auto session = Tracker::start();
  music = std::make_unique<char[]>(3 << 20);
  {
    const LevelMemory level;
    map = std::make_unique<char[]>(1 << 20);
    const std::int64_t grown = level.grown();
    std::cout << "the level holds " << grown << " bytes more than at its start\n";
  }
  std::cout << "the largest block had " << LargestBlock::bytes << " bytes\n";
  if (!session.ok()) std::cerr << session.status() << '\n';
}
