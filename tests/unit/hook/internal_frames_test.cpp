#include <doctest/doctest.h>

#include "alloctap/hook/module_unloading.hpp"

namespace {

ALLOCTAP_NOINLINE std::uintptr_t own_function() {
  alloctap::leave_out_caller();
  alloctap::leave_out_caller();
  return reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS());
}

}  // namespace

TEST_CASE("a function that asks for it is internal code, and its caller is not") {
  const auto start = reinterpret_cast<std::uintptr_t>(&own_function);
  CHECK_FALSE(alloctap::internal_code.contains(start));
  const std::uintptr_t caller = own_function();
  CHECK(alloctap::internal_code.contains(start));
  CHECK_FALSE(alloctap::internal_code.contains(start - 1));
  CHECK_FALSE(alloctap::internal_code.contains(caller - 1));
}
