#include "alloctap/hook/program_operators.hpp"

#include <doctest/doctest.h>

namespace {

namespace functions = alloctap::functions;
using alloctap::kIsOperator;
using alloctap::ProgramOperators;

}  // namespace

TEST_CASE("forms of operator new and delete are told from functions of C") {
  static_assert(kIsOperator<functions::New> && kIsOperator<functions::NewArrayAlignedNothrow>);
  static_assert(kIsOperator<functions::DeleteSized> && kIsOperator<functions::DeleteArrayAligned>);
  static_assert(!kIsOperator<functions::Malloc> && !kIsOperator<functions::Free>);
  static_assert(!kIsOperator<functions::MallocUsableSize> && !kIsOperator<functions::Mmap>);
}

TEST_CASE("operators pass through on demand, and functions of C never do") {
  ProgramOperators::pass_through();
  CHECK(ProgramOperators::serve<functions::New>());
  CHECK(ProgramOperators::serve<functions::DeleteArraySized>());
  CHECK_FALSE(ProgramOperators::serve<functions::Malloc>());
  // What this program defines is the tracker's own, or nothing.
  ProgramOperators::find();
  CHECK_FALSE(ProgramOperators::serve<functions::New>());
}
