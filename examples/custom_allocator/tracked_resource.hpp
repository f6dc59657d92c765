/// A std::pmr::memory_resource that tells a tracker what passes through it.
#pragma once

#include <alloctap/hook/manual_hook.hpp>
#include <cstddef>
#include <memory_resource>

struct LevelMemory;
using LevelHook = alloctap::ManualHook<LevelMemory>;

/// Passes every request on to `upstream`, which outlives it.
class TrackedResource : public std::pmr::memory_resource {
 public:
  explicit TrackedResource(std::pmr::memory_resource& upstream) : upstream_(upstream) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* block = upstream_.allocate(bytes, alignment);
    LevelHook::on_allocate(block, bytes, alignment);
    return block;
  }

  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    LevelHook::on_free(block);
    upstream_.deallocate(block, bytes, alignment);
  }

  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource& upstream_;
};
