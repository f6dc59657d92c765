/// All macros except ALLOCTAP_DEFINE_* and ALLOCTAP_IMPLEMENT, which users place in their source.
#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#error "alloctap needs GCC 12 or newer, or Clang 16 or newer"
#endif

#if defined(_WIN32)
// Must precede the first inclusion of <windows.h>, even by the program. Otherwise windows.h defines
// `min` and `max`, and includes winsock.h, after which winsock2.h does not compile.
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#endif

/// Precedes the function bodies in impl/ folders, which are inline in the header-only form. If
/// ALLOCTAP_COMPILED is defined, as the target alloctap::compiled does for itself and its users,
/// the bodies are compiled once.
#if defined(ALLOCTAP_COMPILED)
#define ALLOCTAP_INLINE
#else
#define ALLOCTAP_INLINE inline
#endif

/// Prevents inlining: for slow paths, and for entry points that need a stack frame.
#define ALLOCTAP_NOINLINE __attribute__((noinline))

/// Forces inlining, so that the function adds no frame to a captured stack.
#define ALLOCTAP_ALWAYS_INLINE __attribute__((always_inline)) inline

/// Disables ASan and TSan for functions that read arbitrary stack memory.
#define ALLOCTAP_NO_SANITIZE __attribute__((no_sanitize("address", "thread")))

/// Exports a symbol to other modules, such as an entry point of an interposing object.
#define ALLOCTAP_EXPORT __attribute__((visibility("default")))

/// Prevents removal of a function that only assembly code calls. Does not export the function.
#if defined(_WIN32)
#define ALLOCTAP_CALLED_BY_ASSEMBLER __attribute__((used))
#else
#define ALLOCTAP_CALLED_BY_ASSEMBLER __attribute__((used, visibility("hidden")))
#endif

/// Gives a declaration hidden visibility: its definition is in this module.
#define ALLOCTAP_HIDDEN __attribute__((visibility("hidden")))

/// Returns true if `a * b` overflows; stores the wrapped product in `*product`.
#define ALLOCTAP_MULTIPLY_OVERFLOWS(a, b, product) __builtin_mul_overflow(a, b, product)

/// Turns an arithmetic type into a SIMD vector of `bytes` bytes (GNU vector extension).
#define ALLOCTAP_VECTOR_OF(bytes) __attribute__((vector_size(bytes)))

/// Prefetches the cache line of `pointer`.
#define ALLOCTAP_PREFETCH(pointer) __builtin_prefetch(pointer)
#define ALLOCTAP_PREFETCH_FOR_WRITING(pointer) __builtin_prefetch(pointer, 1)

/// Hides the value of a variable from the optimizer.
#define ALLOCTAP_HIDE_VALUE(variable) __asm__("" : "+r"(variable))

/// Declares a weak function; its address is null if the program does not define it.
#define ALLOCTAP_WEAK __attribute__((weak))

/// Inline assembly: a statement, a file-scope block, or the register of a variable. Uses the GNU
/// syntax for operands, sections and unwind directives, which LLVM accepts, too.
#define ALLOCTAP_ASM __asm__

/// Executes PAUSE, the x86 hint for spin-wait loops.
#define ALLOCTAP_SPIN_HINT() __builtin_ia32_pause()

/// Makes code written to `[begin, end)` visible to instruction fetch.
#define ALLOCTAP_CLEAR_INSTRUCTION_CACHE(begin, end) __builtin___clear_cache(begin, end)

/// Returns the thread pointer register (TP) as a `void*`.
#define ALLOCTAP_THREAD_POINTER() __builtin_thread_pointer()

/// Selects the initial-exec TLS model. The general-dynamic model may call `__tls_get_addr`, which
/// may call malloc.
#define ALLOCTAP_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

/// Returns the return address of the current function.
#define ALLOCTAP_RETURN_ADDRESS() __builtin_return_address(0)

/// Returns the frame address of the current function; forces the compiler to set up a frame
/// pointer.
#define ALLOCTAP_FRAME_ADDRESS() __builtin_frame_address(0)

/// Returns the caller of the current function as a `CallOrigin`.
#define ALLOCTAP_CALL_ORIGIN()                                              \
  ::alloctap::CallOrigin {                                                  \
    .caller = ALLOCTAP_RETURN_ADDRESS(), .frame = ALLOCTAP_FRAME_ADDRESS(), \
    .place = ::alloctap::arch::this_place()                                 \
  }

/// Rejects a policy whose declared feature `name` differs from the condition in the last argument.
/// The condition must be true if the policy has the member `name`, and false otherwise.
#define ALLOCTAP_CHECK_FEATURE(policy, features, name, ...)            \
  static_assert((features).name == (__VA_ARGS__),                      \
                policy ": the feature " #name " and the member " #name \
                       " go together: declare "                        \
                       "features with " #name ", or correct the member's name and parameters")

/// In a template over a config `C`: rejects a member type named `slip`, and suggests the slot
/// `slot`. Accepts the injected class name of a config that is itself called `slip`.
#define ALLOCTAP_SLIP(slip, slot)                           \
  static_assert(                                            \
      !requires {                                           \
        typename C::slip;                                   \
        requires !::std::is_base_of_v<typename C::slip, C>; \
      }, "Config::" #slip " is not a slot; it is called Config::" #slot)
/// Rejects a member variable or function named `slip` and suggests `slot`.
#define ALLOCTAP_VALUE_SLIP(slip, slot) \
  static_assert(                        \
      !requires { C::slip; }, "Config::" #slip " is not a slot; it is called Config::" #slot)
