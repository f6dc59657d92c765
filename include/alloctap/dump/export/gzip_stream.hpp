/// Gzip compression of a dump's output.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <new>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Allocator for zlib that uses the arena instead of the program's heap.
class ZlibMemory {
 public:
  /// Sets the allocator of `stream`. Must be called before zlib initializes the stream.
  static void use_for(z_stream& stream) noexcept {
    stream.zalloc = &allocate;
    stream.zfree = &deallocate;
  }

 private:
  /// Stores a block's size, because zlib does not pass the size when it frees the block.
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

/// Stream that compresses into one gzip member (RFC 1952). The member has no file name or time, so
/// equal input gives equal files. Prefers speed to size. Uses arena memory. Reports errors to the
/// `DumpWriter`. Needs zlib. Not thread-safe.
class GzipStream {
 public:
  explicit GzipStream(DumpWriter& out) : out_(out) {
    constexpr int kGzipWindow = 15 + 16;
    constexpr int kMemoryLevel = 8;
    ZlibMemory::use_for(stream_);
    ready_ =
        room_.resize(kRoomBytes) && deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow,
                                                 kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
    if (!ready_) out_.fail("gzip: the system has no memory to compress");
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() { deflateEnd(&stream_); }

  void write(std::string_view bytes) { deflate_all(bytes, Z_NO_FLUSH); }

  /// Ends the gzip member. Nothing may be written afterwards.
  void finish() { deflate_all({}, Z_FINISH); }

 private:
  static constexpr std::size_t kRoomBytes = 64 * 1024;

  void deflate_all(std::string_view bytes, int flush) {
    if (!ready_) return;
    // zlib only reads from `next_in`, but does not declare it const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      deflate(&stream_, flush);
      out_ << std::string_view(room_.data(), room_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  DumpWriter& out_;
  z_stream stream_{};
  ArenaArray<char> room_;
  bool ready_ = false;
};

}  // namespace alloctap
