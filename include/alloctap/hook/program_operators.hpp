/// Detects replaced operators new and delete.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/module_symbols.hpp"

namespace alloctap {

constexpr bool is_operator(AllocationKind kind) noexcept {
  return kind == AllocationKind::kNew || kind == AllocationKind::kNewArray ||
         kind == AllocationKind::kAlignedNew || kind == AllocationKind::kAlignedNewArray;
}

constexpr bool is_operator(DeallocationKind kind) noexcept {
  return kind == DeallocationKind::kDelete || kind == DeallocationKind::kDeleteArray ||
         kind == DeallocationKind::kAlignedDelete || kind == DeallocationKind::kAlignedDeleteArray;
}

/// True if the function is a form of operator new or delete.
template <class Function>
inline constexpr bool kIsOperator = requires { requires is_operator(Function::kind); };

/// Detects operators that the program replaces. If the program replaces any operator, all operators
/// pass through unrecorded, because the C++ library's other forms call the replacement
/// ([new.delete]). A replacement may add a header or use a pool, so the hook records the blocks
/// that the replacement gets from malloc.
///
/// `serve` may run inside malloc; the other functions belong to the control plane.
class ProgramOperators {
 public:
  /// Returns true if calls of `Function` must pass through unrecorded.
  template <class Function>
  [[nodiscard]] static bool serve() noexcept {
    return kIsOperator<Function> && are_served_.load(std::memory_order_relaxed);
  }

  /// Searches for operators in the executable and in libraries, except the C++ library and
  /// libraries that define malloc. `sees_calls_of(start)` returns true if the hook sees the malloc
  /// calls of the module at `start`. Calls the loader, which may allocate.
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

  /// Makes operators pass through until the next `find`.
  static void pass_through() noexcept { are_served_.store(true, std::memory_order_relaxed); }

 private:
  /// Returns the functions' linker symbols, with nullptr for functions that are not operators.
  template <class... Functions>
  static constexpr std::array<const char*, sizeof...(Functions)> operator_names(
      FunctionList<Functions...>) noexcept {
    return {(kIsOperator<Functions> ? Functions::name : nullptr)...};
  }

  static bool sees_all_calls(std::uintptr_t) noexcept { return true; }

  /// Start addresses of the modules that may define operators.
  struct Definers {
    std::uintptr_t own = module_of(reinterpret_cast<std::uintptr_t>(&are_served_));
    std::uintptr_t executable = module_of(os::executable_address());
    std::uintptr_t allocator = module_behind_own("malloc");
    std::uintptr_t cxx_library = module_behind_own("__cxa_allocate_exception");

    /// Returns the start of the module that defines `name`. Returns 0 if that module is this
    /// module, the module that defines malloc, or a C++ library that is not linked into the
    /// executable.
    [[nodiscard]] std::uintptr_t find_programs(const char* name) const noexcept;

   private:
    static std::uintptr_t module_of(std::uintptr_t address) noexcept {
      return os::find_module(address).start;
    }

    /// Returns the start of the first module in search order, except this one, that defines `name`.
    [[nodiscard]] std::uintptr_t module_behind_own(const char* name) const noexcept;
  };

  static inline constinit std::atomic<bool> are_served_{false};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/program_operators.hpp"
#endif
