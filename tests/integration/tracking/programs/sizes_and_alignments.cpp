// Asks every allocation function for blocks of sizes and alignments at their edges, uses what comes
// to the last byte, and prints a line for each function and alignment.
#include <malloc.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace {

using std::size_t;

/// Through pointers to volatile, so that the compiler neither removes a call nor knows better.
template <class Function>
struct Opaque {
  Function* volatile function;
};
template <class Function>
Opaque(Function*) -> Opaque<Function>;

Opaque call_malloc{&std::malloc};
Opaque call_calloc{&std::calloc};
Opaque call_realloc{&std::realloc};
Opaque call_reallocarray{&::reallocarray};
Opaque call_memalign{&::memalign};
Opaque call_aligned_alloc{&::aligned_alloc};
Opaque call_posix_memalign{&::posix_memalign};
Opaque call_valloc{&::valloc};
Opaque call_pvalloc{&::pvalloc};

using NewFunction = void*(size_t);
using NothrowFunction = void*(size_t, const std::nothrow_t&) noexcept;
using AlignedFunction = void*(size_t, std::align_val_t);
using AlignedNothrowFunction = void*(size_t, std::align_val_t, const std::nothrow_t&) noexcept;
Opaque<NewFunction> call_new{&::operator new };
Opaque<NewFunction> call_new_array{&::operator new[] };
Opaque<NothrowFunction> call_new_nothrow{&::operator new };
Opaque<NothrowFunction> call_new_array_nothrow{&::operator new[] };
Opaque<AlignedFunction> call_new_aligned{&::operator new };
Opaque<AlignedFunction> call_new_array_aligned{&::operator new[] };
Opaque<AlignedNothrowFunction> call_new_aligned_nothrow{&::operator new };
Opaque<AlignedNothrowFunction> call_new_array_aligned_nothrow{&::operator new[] };

constexpr size_t kPage = 4096;
constexpr size_t kMaxCount = PTRDIFF_MAX;
/// Beyond this only the ends of a block are written.
constexpr size_t kWrittenWhole = 20'000;

constexpr auto kSizes = std::to_array<size_t>({0,
                                               1,
                                               8,
                                               15,
                                               16,
                                               17,
                                               24,
                                               25,
                                               31,
                                               32,
                                               33,
                                               1000,
                                               1032,
                                               1033,
                                               kPage - 17,
                                               kPage - 16,
                                               kPage,
                                               kPage + 1,
                                               9000,
                                               131'040,
                                               135'168,
                                               700'001,
                                               kMaxCount / 2,
                                               kMaxCount / 2 + 1,
                                               kMaxCount - kPage,
                                               kMaxCount - 64,
                                               kMaxCount,
                                               kMaxCount + 1,
                                               SIZE_MAX - kPage,
                                               SIZE_MAX - 100,
                                               SIZE_MAX - 16,
                                               SIZE_MAX - 15,
                                               SIZE_MAX});

struct Block {
  unsigned char* begin = nullptr;
  size_t size = 0;
};

unsigned char byte_of(const Block& block) {
  return static_cast<unsigned char>(block.size % 250 + 1);
}

template <class Visit>
void for_each_part(const Block& block, Visit visit) {
  if (block.size <= kWrittenWhole) return visit(block.begin, block.size);
  visit(block.begin, kWrittenWhole / 2);
  visit(block.begin + block.size - kWrittenWhole / 2, kWrittenWhole / 2);
}

bool holds(const Block& block, unsigned char byte) {
  bool all = true;
  for_each_part(block, [&](const unsigned char* part, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) all = all && part[i] == byte;
  });
  return all;
}

void fill(const Block& block) {
  for_each_part(block, [&](void* part, size_t bytes) { std::memset(part, byte_of(block), bytes); });
}

/// What is promised of an address: as much as the call asks for, or malloc's 16.
bool is_aligned(const void* block, size_t alignment) {
  const size_t step = alignment <= 16 ? 16 : std::bit_ceil(alignment);
  return reinterpret_cast<std::uintptr_t>(block) % step == 0;
}

/// One result: "b" for a block, "0" for null, "t" for an exception; then what is odd about it.
template <class Call>
void* ask(Call call) {
  errno = 77;
  try {
    void* const block = call();
    std::printf(" %s", block == nullptr ? "0" : "b");
    if (errno != 77) std::printf("e%d", errno);
    return block;
  } catch (const std::bad_alloc&) {
    std::printf(" t%d", errno);
    return nullptr;
  }
}

/// Asks `allocate(size)` for each size, writes all of what came, looks whether each block still has
/// what it was given, and gives them back.
template <class Allocate, class Release>
void line(const char* name, size_t alignment, Allocate allocate, Release release) {
  std::printf("%s %#zx:", name, alignment);
  std::vector<Block> blocks;
  for (const size_t size : kSizes) {
    void* const block = ask([&] { return allocate(size); });
    if (block == nullptr) continue;
    if (!is_aligned(block, alignment)) std::printf("-misaligned");
    if (size > kMaxCount) {
      std::printf("-wrapped");
      release(block);
      continue;
    }
    if (::malloc_usable_size(block) < size) std::printf("-small");
    blocks.push_back({static_cast<unsigned char*>(block), size});
    fill(blocks.back());
  }
  for (const Block& block : blocks) {
    if (!holds(block, byte_of(block))) std::printf(" %zu-overwritten", block.size);
    release(block.begin);
  }
  std::printf("\n");
}

void free_block(void* block) { std::free(block); }

/// Of 48 bytes, which a size keeps as far as it goes.
template <class Reallocate>
void reallocations(const char* name, Reallocate reallocate) {
  std::printf("%s from a block:", name);
  for (const size_t size : kSizes) {
    const Block old{static_cast<unsigned char*>(call_malloc.function(48)), 48};
    fill(old);
    void* const block = ask([&] { return reallocate(old.begin, size); });
    if (size == 0 && block == nullptr) continue;
    const Block kept{block == nullptr ? old.begin : static_cast<unsigned char*>(block),
                     block == nullptr || size > 48 ? 48 : size};
    if (!holds(kept, byte_of(old))) std::printf("-lost");
    std::free(kept.begin);
  }
  std::printf("\n");
}

void plain_functions() {
  line("malloc", 0, [](size_t size) { return call_malloc.function(size); }, free_block);
  for (const size_t count : {size_t{1}, size_t{3}, SIZE_MAX}) {
    line(
        "calloc", count,
        [=](size_t size) {
          void* const block = call_calloc.function(count, size / count);
          if (block == nullptr) return block;
          const Block zeros{static_cast<unsigned char*>(block), size / count * count};
          if (!holds(zeros, 0)) std::printf("-not zero");
          return zeros.size < size ? call_realloc.function(block, size) : block;
        },
        free_block);
  }
  line("calloc overflow", 0, [](size_t size) { return call_calloc.function(size, 2); }, free_block);
  line("realloc", 0, [](size_t size) { return call_realloc.function(nullptr, size); }, free_block);
  line(
      "reallocarray", 0, [](size_t size) { return call_reallocarray.function(nullptr, 1, size); },
      free_block);
  reallocations("realloc", [](void* old, size_t size) { return call_realloc.function(old, size); });
  reallocations("reallocarray",
                [](void* old, size_t size) { return call_reallocarray.function(old, size, 1); });
  line("valloc", kPage, [](size_t size) { return call_valloc.function(size); }, free_block);
  line("pvalloc", kPage, [](size_t size) { return call_pvalloc.function(size); }, free_block);
}

void plain_operators() {
  const std::nothrow_t& tag = std::nothrow;
  const auto release = [](void* block) { ::operator delete(block); };
  const auto release_array = [](void* block) { ::operator delete[](block); };
  line("new", 0, [](size_t size) { return call_new.function(size); }, release);
  line("new[]", 0, [](size_t size) { return call_new_array.function(size); }, release_array);
  line(
      "nothrow new", 0, [&](size_t size) { return call_new_nothrow.function(size, tag); }, release);
  line(
      "nothrow new[]", 0, [&](size_t size) { return call_new_array_nothrow.function(size, tag); },
      release_array);
}

void* posix_memalign_block(size_t alignment, size_t size) {
  static unsigned char untouched;
  void* block = &untouched;
  const int error = call_posix_memalign.function(&block, alignment, size);
  if (error == 0) return block;
  std::printf("(%d)%s", error, block == &untouched ? "" : "-written");
  return nullptr;
}

void aligned_functions(size_t alignment) {
  line(
      "memalign", alignment, [=](size_t size) { return call_memalign.function(alignment, size); },
      free_block);
  line(
      "aligned_alloc", alignment,
      [=](size_t size) { return call_aligned_alloc.function(alignment, size); }, free_block);
  line(
      "posix_memalign", alignment,
      [=](size_t size) { return posix_memalign_block(alignment, size); }, free_block);
}

void aligned_operators(size_t bytes) {
  const std::nothrow_t& tag = std::nothrow;
  const std::align_val_t alignment{bytes};
  const auto release = [=](void* block) { ::operator delete(block, alignment); };
  const auto release_array = [=](void* block) { ::operator delete[](block, alignment); };
  line(
      "aligned new", bytes, [=](size_t size) { return call_new_aligned.function(size, alignment); },
      release);
  line(
      "aligned new[]", bytes,
      [=](size_t size) { return call_new_array_aligned.function(size, alignment); }, release_array);
  line(
      "aligned nothrow new", bytes,
      [&](size_t size) { return call_new_aligned_nothrow.function(size, alignment, tag); },
      release);
  line(
      "aligned nothrow new[]", bytes,
      [&](size_t size) { return call_new_array_aligned_nothrow.function(size, alignment, tag); },
      release_array);
}

}  // namespace

int main() {
  static char buffer[1 << 16];
  std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  plain_functions();
  plain_operators();
  std::vector<size_t> alignments{0, 24, 48, 96, 100, 1000, 5000, 12'288, SIZE_MAX};
  for (int bit = 0; bit < 64; ++bit) {
    const size_t power = size_t{1} << bit;
    alignments.insert(alignments.end(), {power, power + 1, power - 1});
  }
  for (const size_t alignment : alignments) {
    aligned_functions(alignment);
    aligned_operators(alignment);
  }
}
