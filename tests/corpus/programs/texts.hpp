#pragma once

#include <cstddef>
#include <cwchar>

#include "hidden.hpp"

namespace corpus {

/// Letters that go on until `length` of them are followed by an end; good until the next call.
template <typename Character>
const Character* text_of(std::size_t length) {
  constexpr std::size_t kRoom = 256;
  static Character text[kRoom];
  for (std::size_t i = 0; i < kRoom; ++i) {
    text[i] = i < length ? Character{'a'} : Character{};
  }
  return hidden(static_cast<const Character*>(text));
}

inline wchar_t* wide(char* block) { return reinterpret_cast<wchar_t*>(block); }
inline const wchar_t* wide(const char* block) { return reinterpret_cast<const wchar_t*>(block); }

constexpr std::size_t kWide = sizeof(wchar_t);

/// A function of <cstring>, <cwchar> or <cstdio> that writes exactly `bytes` bytes to `to`, ends of
/// strings included.
struct Writer {
  const char* name;
  std::size_t unit;  // bytes of a character
  void (*write)(char* to, std::size_t bytes);
};

/// Such a function that reads the characters from `from` on: `bytes` bytes if it is told how many,
/// else until one ends the string.
struct Reader {
  const char* name;
  std::size_t unit;
  void (*read)(const char* from, std::size_t bytes);
};

class Cases;

/// Families of string_write.cpp and string_read.cpp; systems have functions of their own.
void add_writer(Cases& cases, const Writer& writer);
void add_reader(Cases& cases, const Reader& reader);

}  // namespace corpus
