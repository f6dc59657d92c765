#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>

#include "hidden.hpp"

namespace corpus {

/// A function that allocates, and the one that belongs to it.
struct Way {
  const char* name;
  std::size_t size;       // of the blocks that cases ask for
  std::size_t alignment;  // of these
  char* (*allocate)(std::size_t size);
  void (*release)(char* block, std::size_t size);
  bool is_common = false;  // cases of more kinds are made of these: other threads, other offsets

  char* make() const { return hidden(allocate(hidden(size))); }
  void drop(char* block) const { release(hidden(block), hidden(size)); }
};

/// Of every system, and of the one that this was built for. The first is malloc.
std::span<const Way> portable_ways();
std::span<const Way> system_ways();

template <typename Body>
void for_each_way(const Body& body) {
  for (const Way& way : portable_ways()) {
    body(way);
  }
  for (const Way& way : system_ways()) {
    body(way);
  }
}

/// Other live blocks before and after those that are made meanwhile, so that what lies a page away
/// from one is, in an ordinary heap, another's. Large blocks have large neighbours.
class Neighbours {
 public:
  explicit Neighbours(std::size_t size = 0)
      : size_{size < kLeast ? kLeast : size}, before_{hidden(std::malloc(size_))} {}
  ~Neighbours() {
    std::free(after_);
    std::free(before_);
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  void add_after() { after_ = hidden(std::malloc(size_)); }

 private:
  static constexpr std::size_t kLeast = 16 * 1024;
  std::size_t size_;
  void* before_;
  void* after_ = nullptr;
};

/// Other blocks that come and go, as many as `count`.
[[gnu::noinline]] inline void allocate_others(int count) {
  for (int i = 0; i < count; ++i) {
    std::free(hidden(std::malloc(hidden(std::size_t{200}))));
  }
}

}  // namespace corpus
