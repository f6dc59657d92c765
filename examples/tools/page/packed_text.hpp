/// Text that is kept compressed in commands and preloaded objects.
#pragma once

#include <zlib.h>

#include <alloctap/dump/dump_writer.hpp>
#include <alloctap/dump/export/gzip_stream.hpp>
#include <alloctap/runtime/arena_array.hpp>
#include <cstddef>
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
    ZlibMemory::use_for(stream_);
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
