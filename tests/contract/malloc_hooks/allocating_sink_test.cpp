// Case 18 of the reference: what a hook calls must not come back to it, at any optimization.
#include <doctest/doctest.h>
#include <execinfo.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "alloctap/hook/malloc_hooks.hpp"

namespace {

/// Does everything that a hook should not.
void allocate_a_lot() {
  std::free(std::malloc(100));
  std::map<int, int> map;
  for (int i = 0; i < 10; ++i) map[i] = i;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.40f", 1.0 / 3);
  dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
  std::array<void*, 16> frames{};
  backtrace(frames.data(), static_cast<int>(frames.size()));
}

struct AllocatingSink : alloctap::EventSinkArchetype {
  static void on_allocate(const alloctap::AllocationEvent& event) noexcept {
    if (came_back() || event.size != kSize) return;
    ++allocations;
    inside = true;
    allocate_a_lot();
    inside = false;
  }
  static void on_deallocate(const alloctap::DeallocationEvent& event) noexcept {
    if (came_back() || event.pointer != last_block.load()) return;
    ++deallocations;
    inside = true;
    allocate_a_lot();
    inside = false;
  }

  static bool came_back() noexcept {
    if (inside) ++returns;
    return inside;
  }

  static constexpr std::size_t kSize = 12'345;
  static inline std::atomic<bool> inside{false};
  static inline std::atomic<int> returns{0};
  static inline std::atomic<int> allocations{0};
  static inline std::atomic<int> deallocations{0};
  static inline std::atomic<void*> last_block{nullptr};
};

}  // namespace

TEST_CASE("case 18, deleted guard: a sink that allocates sees each call of the program once") {
  constexpr int kRounds = 200;
  // The first call of backtrace loads a library.
  allocate_a_lot();
  const absl::Status status = alloctap::MallocHooks::install<AllocatingSink>();
  REQUIRE_MESSAGE(status.ok(), status.ToString());
  for (int i = 0; i < kRounds; ++i) {
    void* const block = std::malloc(AllocatingSink::kSize);
    AllocatingSink::last_block = block;
    std::free(block);
  }
  alloctap::MallocHooks::uninstall();
  CHECK(AllocatingSink::returns.load() == 0);
  CHECK(AllocatingSink::allocations.load() == kRounds);
  CHECK(AllocatingSink::deallocations.load() == kRounds);
}
