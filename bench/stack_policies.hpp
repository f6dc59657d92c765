/// The stack policies that are measured; a new one is one line here.
#pragma once

#include <alloctap/stack/backtrace_stack.hpp>
#include <alloctap/stack/frame_pointer_stack.hpp>
#include <alloctap/stack/stack_capture.hpp>
#include <alloctap/stack/unwind_table_stack.hpp>

namespace alloctap::bench {

template <class... Stacks>
struct StackList {
  template <template <class...> class Template>
  using apply = Template<Stacks...>;

  /// Calls `visit.template operator()<Stack>()` for each.
  template <class Visit>
  static void for_each(Visit visit) {
    (visit.template operator()<Stacks>(), ...);
  }
};

using StackPolicies = StackList<  //
    NoStack,                      //
    FramePointerStack,            //
    UnwindTableStack,             //
    BacktraceStack>;

}  // namespace alloctap::bench
