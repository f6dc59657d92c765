/// An allocator as engines have them: bump a pointer, forget everything at once.
#pragma once

#include <alloctap/hook/manual_hook.hpp>
#include <cstddef>
#include <memory>
#include <vector>

/// The domain that the arena reports to; any type will do.
struct FrameMemory;
using FrameHook = alloctap::ManualHook<FrameMemory>;

/// Hands out memory until `reset`, which ends all blocks. Tells a tracker of each.
class FrameArena {
 public:
  explicit FrameArena(std::size_t bytes) : memory_(std::make_unique<std::byte[]>(bytes)) {
    end_ = memory_.get() + bytes;
    reset();
  }

  /// nullptr when used up. `alignment` is a power of two.
  void* allocate(std::size_t bytes, std::size_t alignment) {
    void* place = next_;
    std::size_t left = static_cast<std::size_t>(end_ - next_);
    if (std::align(alignment, bytes, place, left) == nullptr) return nullptr;
    next_ = static_cast<std::byte*>(place) + bytes;
    blocks_.push_back(place);
    FrameHook::on_allocate(place, bytes, alignment);
    return place;
  }

  void reset() {
    for (void* block : blocks_) FrameHook::on_free(block);
    blocks_.clear();
    next_ = memory_.get();
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  std::vector<void*> blocks_;
};
