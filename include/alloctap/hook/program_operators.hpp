/// Whether the program replaces operator new and delete.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "alloctap/event/allocation_kind.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/os/find_module.hpp"
#include "alloctap/os/loaded_images.hpp"

namespace alloctap {

constexpr bool is_operator(AllocationKind kind) noexcept {
  return kind == AllocationKind::kNew || kind == AllocationKind::kNewArray ||
         kind == AllocationKind::kAlignedNew || kind == AllocationKind::kAlignedNewArray;
}

constexpr bool is_operator(DeallocationKind kind) noexcept {
  return kind == DeallocationKind::kDelete || kind == DeallocationKind::kDeleteArray ||
         kind == DeallocationKind::kAlignedDelete || kind == DeallocationKind::kAlignedDeleteArray;
}

/// Whether the description is one of a form of operator new or delete.
template <class Function>
inline constexpr bool kIsOperator = requires { requires is_operator(Function::kind); };

/// A program that replaces operator new and delete mostly replaces some forms only. The C++
/// library's other forms call the replaced ones ([new.delete]), which may put a header in front of
/// a block or take blocks from a pool. So a hook passes calls of all forms through then, and
/// records the blocks that the program's operators get from malloc.
///
/// `serve` may run inside malloc; the rest belongs to the control plane.
class ProgramOperators {
 public:
  /// Whether calls of `Function` are to pass through.
  template <class Function>
  [[nodiscard]] static bool serve() noexcept {
    return kIsOperator<Function> && are_served_.load(std::memory_order_relaxed);
  }

  /// Looks for operators in the executable, and in libraries that define no malloc of their own and
  /// are not the C++ library. `sees_calls_of` says whether the hook sees what a module that begins
  /// at an address gets from malloc. Asks the loader, which may allocate.
  template <class SeesCallsOf>
  static void find(SeesCallsOf sees_calls_of) noexcept {
    const Definers definers;
    bool found = false;
    for (const char* const name : operator_names(HeapFunctions{})) {
      const std::uintptr_t program = found || name == nullptr ? 0 : definers.find_programs(name);
      found = found || (program != 0 && sees_calls_of(program));
    }
    are_served_.store(found, std::memory_order_relaxed);
  }
  static void find() noexcept { find(&sees_all_calls); }

  /// Has calls pass through until `find` is called again, as if the program replaced operators.
  static void pass_through() noexcept { are_served_.store(true, std::memory_order_relaxed); }

 private:
  /// nullptr for what is no operator.
  template <class... Functions>
  static constexpr std::array<const char*, sizeof...(Functions)> operator_names(
      FunctionList<Functions...>) noexcept {
    return {(kIsOperator<Functions> ? Functions::name : nullptr)...};
  }

  static bool sees_all_calls(std::uintptr_t) noexcept { return true; }

  /// The modules whose definitions matter, by the address where each begins.
  struct Definers {
    std::uintptr_t own = module_of(reinterpret_cast<std::uintptr_t>(&are_served_));
    std::uintptr_t executable = module_of(os::executable_address());
    std::uintptr_t allocator = module_behind_own("malloc");
    std::uintptr_t cxx_library = module_behind_own("__cxa_allocate_exception");

    /// Where the program's module begins that defines `name`; 0 if the definition is another's.
    [[nodiscard]] std::uintptr_t find_programs(const char* name) const noexcept;

   private:
    static std::uintptr_t module_of(std::uintptr_t address) noexcept {
      return os::find_module(address).start;
    }

    /// The first module that defines `name` and is not this one.
    [[nodiscard]] std::uintptr_t module_behind_own(const char* name) const noexcept;
  };

  static inline constinit std::atomic<bool> are_served_{false};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/program_operators.hpp"
#endif
