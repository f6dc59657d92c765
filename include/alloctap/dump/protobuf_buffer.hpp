/// Buffer in arena memory for protozero's writer of protocol buffers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <protozero/buffer_tmpl.hpp>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Buffer type of `protozero::basic_pbf_writer`. Drops its content if out of memory, because only
/// an exception could report the failure to protozero. Move-only; not thread-safe.
class ProtobufBuffer {
 public:
  /// Returns false if bytes were dropped because memory ran out.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the bytes. Precondition: no nested message is open.
  [[nodiscard]] std::string_view bytes() const noexcept {
    return complete_ ? std::string_view(bytes_.data(), size_) : std::string_view();
  }

  /// Removes all bytes. Precondition: no nested message is open.
  void clear() noexcept { size_ = 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void append(const char* data, std::size_t count) noexcept {
    // An empty text may have a null pointer, which memcpy does not allow.
    if (count > 0 && reserve(count)) std::memcpy(bytes_.data() + size_, data, count);
    size_ += count;
  }

  void append_zeros(std::size_t count) noexcept {
    if (count > 0 && reserve(count)) std::memset(bytes_.data() + size_, 0, count);
    size_ += count;
  }

  void push_back(char character) noexcept { append(&character, 1); }

  void resize(std::size_t size) noexcept { size_ = size; }

  void erase_range(std::size_t from, std::size_t to) noexcept {
    if (complete_) std::memmove(bytes_.data() + from, bytes_.data() + to, size_ - to);
    size_ -= to - from;
  }

  /// Returns the address at which protozero later writes a message's length.
  [[nodiscard]] char* at(std::size_t position) noexcept {
    return complete_ ? bytes_.data() + position : nowhere_.data();
  }

  [[nodiscard]] bool reserve(std::size_t count) noexcept {
    if (complete_ && size_ + count > bytes_.capacity()) {
      complete_ = bytes_.resize(std::max(bytes_.capacity() * 2, size_ + count));
    }
    return complete_;
  }

 private:
  static constexpr std::size_t kLongestNumber = 16;

  /// `bytes_.size()` is meaningless, because bytes beyond `size_` are spare capacity.
  ArenaArray<char> bytes_;
  std::size_t size_ = 0;
  bool complete_ = true;
  std::array<char, kLongestNumber> nowhere_{};
};

}  // namespace alloctap

namespace protozero {

/// The customization point through which protozero uses a `ProtobufBuffer`.
template <>
struct buffer_customization<alloctap::ProtobufBuffer> {
  using Buffer = alloctap::ProtobufBuffer;

  static std::size_t size(const Buffer* buffer) noexcept { return buffer->size(); }
  static void append(Buffer* buffer, const char* data, std::size_t count) noexcept {
    buffer->append(data, count);
  }
  static void append_zeros(Buffer* buffer, std::size_t count) noexcept {
    buffer->append_zeros(count);
  }
  static void resize(Buffer* buffer, std::size_t size) noexcept { buffer->resize(size); }
  static void reserve_additional(Buffer* buffer, std::size_t size) noexcept {
    static_cast<void>(buffer->reserve(size));
  }
  static void erase_range(Buffer* buffer, std::size_t from, std::size_t to) noexcept {
    buffer->erase_range(from, to);
  }
  static char* at_pos(Buffer* buffer, std::size_t position) noexcept {
    return buffer->at(position);
  }
  static void push_back(Buffer* buffer, char character) noexcept { buffer->push_back(character); }
};

}  // namespace protozero
