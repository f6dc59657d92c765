/// Arena memory for zlib's streams.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <new>

#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// Makes zlib allocate from the arena, not from the program's heap.
class ZlibMemory {
 public:
  /// Sets the allocator of a stream that is not initialized yet.
  static void use_for(z_stream& stream) noexcept {
    stream.zalloc = &allocate;
    stream.zfree = &deallocate;
  }

 private:
  /// zlib does not pass the size of a block that it frees.
  struct alignas(std::max_align_t) Header {
    std::size_t bytes = 0;
  };

  static void* allocate(void*, unsigned items, unsigned size) noexcept {
    const std::size_t bytes = std::size_t{items} * size + sizeof(Header);
    void* memory = Arena::allocate(bytes);
    return memory == nullptr ? nullptr : ::new (memory) Header{bytes} + 1;
  }

  static void deallocate(void*, void* address) noexcept {
    Header* header = static_cast<Header*>(address) - 1;
    Arena::deallocate(header, header->bytes);
  }
};

}  // namespace alloctap
