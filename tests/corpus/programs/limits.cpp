#include <cstdint>
#include <limits>
#include <new>

#include "allocation_ways.hpp"
#include "families.hpp"

namespace corpus {
namespace {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 2 - 100;

char* make(std::size_t size) { return hidden(static_cast<char*>(std::malloc(hidden(size)))); }

void refuse(void* block) {
  require(hidden(block) == nullptr, "what is larger than any memory is refused");
}

void throw_for_huge() {
  bool threw = false;
  try {
    ::operator delete(hidden(::operator new(hidden(kHuge))));
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  require(threw, "operator new throws where there is no memory");
}

void free_nothing_of(void* block) { std::free(hidden(block)); }

void access_no_bytes(void (*access)(char*)) {
  char* const block = make(0);
  access(block);
  std::free(block);
}

struct Variant {
  const char* name;
  Misuse misuse;
  void (*run)();
};

constexpr Variant kVariants[] = {
    {"malloc_0/write",
     {Kind::kWriteAfter, kGuardBytes | kPageAfter},
     [] { access_no_bytes([](char* block) { write_byte(block, 0); }); }},
    {"malloc_0/read",
     {Kind::kReadAfter, kPageAfter},
     [] { access_no_bytes([](char* block) { read_byte(block, 0); }); }},
    {"malloc_0/good_free", kGood, [] { free_nothing_of(make(0)); }},
    {"calloc_0/good_free", kGood, [] { free_nothing_of(std::calloc(hidden(std::size_t{0}), 8)); }},
    {"new_0/good_delete", kGood,
     [] { ::operator delete(hidden(::operator new(hidden(std::size_t{0})))); }},
    {"new_array_0/good_delete", kGood, [] { delete[] hidden(new char[hidden(std::size_t{0})]); }},
    {"malloc_huge/good_null", kGood, [] { refuse(make(kHuge)); }},
    {"calloc_overflow/good_null", kGood, [] { refuse(std::calloc(hidden(kHuge), 4)); }},
    {"new_nothrow_huge/good_null", kGood,
     [] { refuse(::operator new(hidden(kHuge), std::nothrow)); }},
    {"new_huge/good_throws", kGood, throw_for_huge},
};

}  // namespace

void add_limits(Cases& cases) {
  for (const Variant& variant : kVariants) {
    cases.add({"limits", variant.name}, variant.misuse, [&](auto&) { variant.run(); });
  }
}

}  // namespace corpus
