#include "alloctap/hook/allocation_functions.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using alloctap::AllocationFunctions;
using alloctap::CallRole;

/// The name of each description as a program writes it.
std::vector<std::string> listed_functions() {
  std::vector<std::string> names;
  AllocationFunctions::for_each([&](auto function) {
    int status = 0;
    char* readable = abi::__cxa_demangle(function.name, nullptr, nullptr, &status);
    names.emplace_back(status == 0 ? readable : function.name);
    std::free(readable);
  });
  return names;
}

constexpr const char* kRequired[] = {
    "malloc",
    "calloc",
    "realloc",
    "free",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "reallocarray",
    "malloc_usable_size",
    "strdup",
    "strndup",
    "mmap",
    "mmap64",
    "munmap",
    "mremap",
    "operator new(unsigned long)",
    "operator new(unsigned long, std::nothrow_t const&)",
    "operator new(unsigned long, std::align_val_t)",
    "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
    "operator new[](unsigned long)",
    "operator new[](unsigned long, std::nothrow_t const&)",
    "operator new[](unsigned long, std::align_val_t)",
    "operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)",
    "operator delete(void*)",
    "operator delete(void*, unsigned long)",
    "operator delete(void*, std::nothrow_t const&)",
    "operator delete(void*, std::align_val_t)",
    "operator delete(void*, unsigned long, std::align_val_t)",
    "operator delete(void*, std::align_val_t, std::nothrow_t const&)",
    "operator delete[](void*)",
    "operator delete[](void*, unsigned long)",
    "operator delete[](void*, std::nothrow_t const&)",
    "operator delete[](void*, std::align_val_t)",
    "operator delete[](void*, unsigned long, std::align_val_t)",
    "operator delete[](void*, std::align_val_t, std::nothrow_t const&)",
};

/// Whether a function with this role and result belongs to a handler of `CallWrapper`.
template <class Function, class Signature = typename Function::Signature>
struct FitsRole;

template <class Function, class Result, class... Arguments>
struct FitsRole<Function, Result(Arguments...)> {
  static constexpr bool kGivesBlock = std::is_pointer_v<Result>;
  static constexpr bool value = Function::role == CallRole::kDeallocate ? std::is_void_v<Result>
                                : Function::role == CallRole::kMeasure
                                    ? std::is_same_v<Result, std::size_t>
                                    : kGivesBlock != (Function::role == CallRole::kAllocateInto ||
                                                      Function::role == CallRole::kUnmap);
};

}  // namespace

TEST_CASE("the list has every entry point that a tracker must see, once, and no other") {
  std::vector<std::string> listed = listed_functions();
  std::vector<std::string> required(std::begin(kRequired), std::end(kRequired));
  std::sort(listed.begin(), listed.end());
  std::sort(required.begin(), required.end());
  CHECK(listed == required);
  CHECK(AllocationFunctions::size == required.size());
}

TEST_CASE("every listed name is a symbol of this process") {
  AllocationFunctions::for_each([](auto function) {
    CAPTURE(function.name);
    CHECK(dlsym(RTLD_DEFAULT, function.name) != nullptr);
  });
}

TEST_CASE("the result of every listed function fits its role") {
  AllocationFunctions::for_each([](auto function) {
    CAPTURE(function.name);
    CHECK(FitsRole<decltype(function)>::value);
  });
}
