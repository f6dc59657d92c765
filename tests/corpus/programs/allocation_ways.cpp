#include "allocation_ways.hpp"

#include <new>

namespace corpus {
namespace {

constexpr std::size_t kUsual = 64;
constexpr std::align_val_t kAlignment{64};

char* text(void* block) { return static_cast<char*>(block); }

void free_block(char* block, std::size_t) { std::free(block); }
void delete_block(char* block, std::size_t) { ::operator delete(block); }
void delete_array(char* block, std::size_t) { ::operator delete[](block); }

char* call_malloc(std::size_t size) { return text(std::malloc(size)); }

char* call_calloc(std::size_t size) { return text(std::calloc(size, 1)); }

char* reallocate_nothing(std::size_t size) {
  return text(std::realloc(hidden(static_cast<void*>(nullptr)), size));
}

char* grow(std::size_t size) { return text(std::realloc(hidden(std::malloc(size / 2)), size)); }

char* call_new(std::size_t size) { return text(::operator new(size)); }
char* new_array(std::size_t size) { return text(::operator new[](size)); }

char* new_or_null(std::size_t size) { return text(::operator new(size, std::nothrow)); }

char* new_aligned(std::size_t size) { return text(::operator new(size, kAlignment)); }
void delete_aligned(char* block, std::size_t) { ::operator delete(block, kAlignment); }

char* new_aligned_array(std::size_t size) { return text(::operator new[](size, kAlignment)); }
void delete_aligned_array(char* block, std::size_t) { ::operator delete[](block, kAlignment); }

constexpr Way kWays[] = {
    {"malloc", kUsual, 16, call_malloc, free_block, true},
    {"malloc_61", 61, 16, call_malloc, free_block},
    {"malloc_1_mib", 1024 * 1024, 16, call_malloc, free_block},
    {"calloc", kUsual, 16, call_calloc, free_block},
    {"realloc_null", kUsual, 16, reallocate_nothing, free_block},
    {"realloc_grown", kUsual, 16, grow, free_block},
    {"new", kUsual, 16, call_new, delete_block, true},
    {"new_array", kUsual, 16, new_array, delete_array, true},
    {"new_nothrow", kUsual, 16, new_or_null, delete_block},
    {"new_aligned", kUsual, 64, new_aligned, delete_aligned},
    {"new_aligned_array", kUsual, 64, new_aligned_array, delete_aligned_array},
};

}  // namespace

std::span<const Way> portable_ways() { return kWays; }

}  // namespace corpus
