/// Addresses of the allocation functions that the program's calls resolve to.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "alloctap/os/program_symbol.hpp"

namespace alloctap {

/// Addresses that the constructor looks up; nullptr if undefined. Asks the loader first, because a
/// preloaded object may have its own malloc, which the program does not call. Uses the functions
/// linked into this module only if the loader finds no other malloc.
struct ProgramFunctions {
  ProgramFunctions() noexcept {
    void* const program_malloc = os::program_symbol("malloc");
    linked_counts_ = program_malloc == nullptr ||
                     program_malloc == reinterpret_cast<void*>(static_cast<Malloc*>(&std::malloc));
    find(malloc, "malloc", &std::malloc);
    find(calloc, "calloc", &std::calloc);
    find(realloc, "realloc", &std::realloc);
    find(free, "free", &std::free);
    find(aligned_alloc, "aligned_alloc", &std::aligned_alloc);
    find(posix_memalign, "posix_memalign", &::posix_memalign);
    find(strdup, "strdup", &::strdup);
    find(operator_new, "_Znwm", &::operator new);
    find(operator_new_array, "_Znam", &::operator new[]);
    find(aligned_new, "_ZnwmSt11align_val_t", &::operator new);
    find(operator_delete, "_ZdlPv", &::operator delete);
    find(operator_delete_array, "_ZdaPv", &::operator delete[]);
    find(aligned_delete, "_ZdlPvSt11align_val_t", &::operator delete);
  }

  using Malloc = void*(std::size_t);
  using AlignedNew = void*(std::size_t, std::align_val_t);

  Malloc* malloc = nullptr;
  void* (*calloc)(std::size_t, std::size_t) = nullptr;
  void* (*realloc)(void*, std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  void* (*aligned_alloc)(std::size_t, std::size_t) = nullptr;
  int (*posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
  char* (*strdup)(const char*) = nullptr;
  Malloc* operator_new = nullptr;
  Malloc* operator_new_array = nullptr;
  AlignedNew* aligned_new = nullptr;
  void (*operator_delete)(void*) = nullptr;
  void (*operator_delete_array)(void*) = nullptr;
  void (*aligned_delete)(void*, std::align_val_t) = nullptr;

 private:
  template <class Function>
  void find(Function*& function, const char* name,
            std::type_identity_t<Function>* linked) noexcept {
    function = reinterpret_cast<Function*>(os::program_symbol(name));
    if (function == nullptr && linked_counts_) function = linked;
  }

  bool linked_counts_ = false;
};

}  // namespace alloctap
