/// Handlers that meet blocks of the bootstrap arena, and operators that the program replaces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "alloctap/hook/program_operators.hpp"
#include "alloctap/hook/refusable_call.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/bootstrap_arena.hpp"

namespace alloctap {

/// `RefusableCall`, with blocks of the bootstrap arena kept away from the host's allocator, and
/// calls of `ProgramOperators` left to them. For `Originals` that hand out stand-ins.
template <class Originals, EventSink Sink>
struct BootstrappedCall : RefusableCall<Originals, Sink> {
  using Base = RefusableCall<Originals, Sink>;

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static auto allocate(const CallOrigin& origin, Arguments... arguments) {
    if (ProgramOperators::serve<Function>()) [[unlikely]] {
      return Originals::template get<Function>()(arguments...);
    }
    return Base::template allocate<Function>(origin, arguments...);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void deallocate(const CallOrigin& origin, void* block,
                                                Arguments... arguments) {
    if (ProgramOperators::serve<Function>()) [[unlikely]] {
      return Originals::template get<Function>()(block, arguments...);
    }
    if (BootstrapArena::owns(block)) [[unlikely]] {
      return;
    }
    Base::template deallocate<Function>(origin, block, arguments...);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, void* old,
                                                 Arguments... arguments) {
    if (BootstrapArena::owns(old)) [[unlikely]] {
      return move_out<Function>(origin, old, arguments...);
    }
    return Base::template reallocate<Function>(origin, old, arguments...);
  }

  ALLOCTAP_ALWAYS_INLINE static std::size_t measure(const CallOrigin& origin, void* block) {
    if (BootstrapArena::owns(block)) [[unlikely]] {
      return BootstrapArena::size_of(block);
    }
    return Base::measure(origin, block);
  }

 private:
  /// A block that was allocated early leaves the bootstrap arena when it grows.
  template <class Function, class... Arguments>
  ALLOCTAP_NOINLINE static void* move_out(const CallOrigin& origin, void* old,
                                          Arguments... arguments) {
    void* block = Base::template reallocate<Function>(origin, nullptr, arguments...);
    const std::size_t size = Function::request(old, arguments...).size;
    if (block != nullptr) {
      std::memcpy(block, old, std::min(size, BootstrapArena::size_of(old)));
    }
    return block;
  }
};

}  // namespace alloctap
