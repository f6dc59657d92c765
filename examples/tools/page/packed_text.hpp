/// Text that is kept compressed in commands and preloaded objects.
#pragma once

#include <zlib.h>

#include <alloctap/dump/dump_writer.hpp>
#include <alloctap/guard/arena.hpp>
#include <alloctap/guard/arena_array.hpp>
#include <cstddef>
#include <new>
#include <span>
#include <string_view>

namespace alloctap {

/// A zlib stream (RFC 1950).
struct PackedText {
  std::span<const unsigned char> bytes;
};

/// Writes the text of one `PackedText`. Memory from the arena; errors go to the writer. Not
/// thread-safe.
class PackedTextReader {
 public:
  explicit PackedTextReader(DumpWriter& out) : out_(out) {
    stream_.zalloc = &allocate;
    stream_.zfree = &deallocate;
    ready_ = room_.resize(kRoomBytes) && inflateInit(&stream_) == Z_OK;
    if (!ready_) out_.fail("html: the system has no memory to unpack the page");
  }
  PackedTextReader(const PackedTextReader&) = delete;
  PackedTextReader& operator=(const PackedTextReader&) = delete;
  ~PackedTextReader() { inflateEnd(&stream_); }

  void write(const PackedText& text) {
    if (!ready_) return;
    // zlib reads what it is not allowed to name const.
    stream_.next_in = const_cast<Bytef*>(text.bytes.data());
    stream_.avail_in = static_cast<uInt>(text.bytes.size());
    int state = Z_OK;
    while (state == Z_OK) {
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      state = inflate(&stream_, Z_NO_FLUSH);
      out_ << std::string_view(room_.data(), room_.size() - stream_.avail_out);
    }
    if (state != Z_STREAM_END) out_.fail("html: the page cannot be unpacked");
  }

 private:
  static constexpr std::size_t kRoomBytes = 16 * 1024;

  /// zlib does not tell how large a block is when it gives it back.
  struct alignas(std::max_align_t) Header {
    std::size_t bytes = 0;
  };

  static void* allocate(void*, unsigned items, unsigned size) {
    const std::size_t bytes = std::size_t{items} * size + sizeof(Header);
    void* memory = Arena::allocate(bytes);
    return memory == nullptr ? nullptr : ::new (memory) Header{bytes} + 1;
  }

  static void deallocate(void*, void* address) {
    Header* header = static_cast<Header*>(address) - 1;
    Arena::deallocate(header, header->bytes);
  }

  DumpWriter& out_;
  z_stream stream_{};
  ArenaArray<char> room_;
  bool ready_ = false;
};

/// Found by `write_html_page` in the place of what writes pieces of text.
inline void write_page_part(DumpWriter& out, const PackedText& text) {
  PackedTextReader(out).write(text);
}

}  // namespace alloctap
