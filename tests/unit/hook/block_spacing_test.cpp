#include "alloctap/hook/block_spacing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace {

namespace functions = alloctap::functions;
using alloctap::BlockSpacing;
using alloctap::FallbackOperator;

/// What this process calls, behind whatever this program defines itself.
struct ProcessOriginals {
  template <class Function>
  static typename Function::Signature* get_outermost() {
    return reinterpret_cast<typename Function::Signature*>(
        alloctap::os::next_symbol(Function::name));
  }
  template <class Function>
  static typename Function::Signature* get() {
    return get_outermost<Function>();
  }
};

void* allocate_here(std::size_t size) { return ProcessOriginals::get<functions::Malloc>()(size); }
void* fail_here(std::size_t) { return nullptr; }

/// The same, but for one function.
template <class Replaced, auto* kWith>
struct WithAnother : ProcessOriginals {
  template <class Function>
  static typename Function::Signature* get_outermost() {
    if constexpr (std::is_same_v<Function, Replaced>) return kWith;
    return ProcessOriginals::get_outermost<Function>();
  }
};

/// As in a program without a C++ library.
struct WithFallbacks : ProcessOriginals {
  template <class Function>
  static typename Function::Signature* get_outermost() {
    if constexpr (Function::name[0] == '_') {
      return &FallbackOperator<Function, WithFallbacks>::call;
    }
    return ProcessOriginals::get_outermost<Function>();
  }
};

std::uintptr_t module_of(const char* name) {
  const void* const code = alloctap::os::next_symbol(name);
  return alloctap::os::find_module(reinterpret_cast<std::uintptr_t>(code)).start;
}

/// No sanitizer's, and no other library's.
bool has_allocator_of_glibc() {
  return alloctap::os::next_symbol("gnu_get_libc_version") != nullptr &&
         module_of("malloc") == module_of("gnu_get_libc_version") &&
         module_of("mmap") == module_of("malloc") &&
         module_of("_Znwm") == module_of("_ZSt15get_new_handlerv");
}

}  // namespace

TEST_CASE("blocks of glibc begin 32 bytes apart, with the C++ library's operators or without") {
  const std::size_t spacing = has_allocator_of_glibc() ? 32 : 16;
  CHECK(BlockSpacing<ProcessOriginals>::find() == spacing);
  if (has_allocator_of_glibc()) CHECK(BlockSpacing<WithFallbacks>::find() == 32);
}

TEST_CASE("of an allocator that is not wholly the C library's, nothing is known") {
  CHECK(BlockSpacing<WithAnother<functions::Malloc, &allocate_here>>::find() == 16);
  CHECK(BlockSpacing<WithAnother<functions::Malloc, &fail_here>>::find() == 16);
  CHECK(BlockSpacing<WithAnother<functions::New, &allocate_here>>::find() == 16);
  CHECK(BlockSpacing<WithAnother<functions::NewArray, &allocate_here>>::find() == 16);
}

/// Pairs of all small sizes, so that some lie side by side.
TEST_CASE("what is said of the process's allocator holds") {
  const std::size_t spacing = BlockSpacing<ProcessOriginals>::find();
  constexpr std::size_t kBlocks = 4000;
  static std::uintptr_t blocks[kBlocks];
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks[i] =
        reinterpret_cast<std::uintptr_t>(ProcessOriginals::get<functions::Malloc>()(i % 40));
  }
  std::sort(blocks, blocks + kBlocks);
  std::size_t closer = 0;
  for (std::size_t i = 1; i < kBlocks; ++i) closer += blocks[i] - blocks[i - 1] < spacing ? 1 : 0;
  CHECK(closer == 0);
  for (const std::uintptr_t block : blocks) {
    ProcessOriginals::get<functions::Free>()(reinterpret_cast<void*>(block));
  }
}
