#include "alloctap/elf/module_code.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

namespace {

using alloctap::elf::is_module_code;

int variable = 1;

int function() { return variable; }

template <class Place>
std::uintptr_t address_of(Place* place) {
  return reinterpret_cast<std::uintptr_t>(place);
}

}  // namespace

TEST_CASE("the functions of modules are their code, and nothing else is") {
  const auto heap = std::make_unique<int>(function());
  CHECK(is_module_code(address_of(&function)));
  CHECK(is_module_code(address_of(&std::abort)));
  CHECK_FALSE(is_module_code(address_of(&variable)));
  CHECK_FALSE(is_module_code(address_of(heap.get())));
  CHECK_FALSE(is_module_code(address_of(&heap)));
  CHECK_FALSE(is_module_code(0));
  CHECK_FALSE(is_module_code(UINTPTR_MAX));
}
