/// Memory for one frame: bump a pointer, forget everything at once.
#pragma once

#include <alloctap/annotate.hpp>
#include <cstddef>
#include <memory>

class FrameArena {
 public:
  explicit FrameArena(std::size_t bytes) : bytes_(bytes) {
    const alloctap::tag_scope tag{"FrameArena"};
    memory_ = std::make_unique<std::byte[]>(bytes);
  }

  /// nullptr when used up.
  void* allocate(std::size_t bytes) {
    const std::size_t begin = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    if (begin + bytes > bytes_) return nullptr;
    used_ = begin + bytes;
    return memory_.get() + begin;
  }

  void reset() { used_ = 0; }

 private:
  static constexpr std::size_t kAlignment = 16;

  std::size_t bytes_;
  std::size_t used_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};
