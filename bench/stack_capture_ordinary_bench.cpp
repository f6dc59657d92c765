// Capturing a stack of code without frame pointers, which is what compilers make of programs that
// do not ask for them (CMakeLists.txt). Beside stack_capture_bench.cpp, whose code has them,
// because others need them: by the same names, with "_ordinary" behind the policy's.
#include <benchmark/benchmark.h>

#include <alloctap/stack/unwind_table_stack.hpp>

#include "bench/capture_benchmarks.hpp"
#include "bench/capture_patterns.hpp"

namespace alloctap::bench {
namespace {

const bool added = [] {
  add_captures<Identify, Steady, UnwindTableStack>("unwind-table_ordinary");
  add_captures<Frames, Steady, UnwindTableStack>("unwind-table_ordinary");
  return true;
}();

}  // namespace
}  // namespace alloctap::bench
