// A program of which all calls of functions of strings are checked: what it makes of one call.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <functional>
#include <vector>

#include "alloctap/check/misuse.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace alloctap::testing {

inline constexpr std::size_t kSize = 32;
inline char elsewhere[256];

/// A block of `kSize` bytes for the time of a test, without an end in it.
struct Block {
  char* text = static_cast<char*>(escape(std::malloc(kSize)));
  Block() { std::memset(escape(text), 'a', kSize); }
  ~Block() { std::free(text); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] wchar_t* wide() const { return reinterpret_cast<wchar_t*>(text); }
};

/// The faults that `work` makes, in the order in which they are found first. The source with the
/// tracker defines it.
std::vector<Misuse> faults_of(const std::function<void()>& work);

/// Whether `work` makes one fault, in a call of `function`, that reads or writes behind a block.
inline void check_behind(const char* function, bool writes, const std::function<void()>& work) {
  CAPTURE(function);
  const std::vector<Misuse> faults = faults_of(work);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == (writes ? MisuseKind::kWriteBehind : MisuseKind::kReadBehind));
  CHECK(faults[0].access.function == function);
  CHECK(faults[0].access.writes == writes);
  CHECK(faults[0].block.size == kSize);
  CHECK(faults[0].block.allocated.stack != faults[0].found.stack);
}

/// Keeps a call whose result nobody wants.
template <class T>
void use(T value) {
  __asm__ volatile("" : : "g"(value) : "memory");
}

}  // namespace alloctap::testing
