// The one file that defines macros, but for the ALLOCTAP_DEFINE_* that users place in a source
// file.
#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#error "alloctap needs GCC 12 or newer, or Clang 16 or newer"
#endif

#if defined(_WIN32)
// Before the first <windows.h>, whoever includes it: without these it defines `min`, `max`, and a
// network interface that its successor's header cannot follow.
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#endif

/// Stands before the bodies in impl/ folders. They are inline functions in the header-only form,
/// and ordinary ones in the library alloctap::compiled, which is compiled with ALLOCTAP_COMPILED as
/// are the programs that link it.
#if defined(ALLOCTAP_COMPILED)
#define ALLOCTAP_INLINE
#else
#define ALLOCTAP_INLINE inline
#endif

/// Keeps a function out of its callers: slow paths, and entry points whose frame must exist.
#define ALLOCTAP_NOINLINE __attribute__((noinline))

/// Folds a function into its caller, so that it adds no frame to a captured stack.
#define ALLOCTAP_ALWAYS_INLINE __attribute__((always_inline)) inline

/// For functions that read the program's stack as it is.
#define ALLOCTAP_NO_SANITIZE __attribute__((no_sanitize("address", "thread")))

/// Makes a symbol visible to other modules: the entry points of an interposing object.
#define ALLOCTAP_EXPORT __attribute__((visibility("default")))

/// Keeps a function that assembler code alone calls, for this module only.
#if defined(_WIN32)
#define ALLOCTAP_CALLED_BY_ASSEMBLER __attribute__((used))
#else
#define ALLOCTAP_CALLED_BY_ASSEMBLER __attribute__((used, visibility("hidden")))
#endif

/// What follows is defined in this module.
#define ALLOCTAP_HIDDEN __attribute__((visibility("hidden")))

/// Whether `a * b` overflows; `*product` is the rest of it.
#define ALLOCTAP_MULTIPLY_OVERFLOWS(a, b, product) __builtin_mul_overflow(a, b, product)

/// Behind the name of an arithmetic type: as many of them as fill `bytes`, with its operators.
#define ALLOCTAP_VECTOR_OF(bytes) __attribute__((vector_size(bytes)))

/// Begins to fetch what will be written at `pointer`.
#define ALLOCTAP_PREFETCH(pointer) __builtin_prefetch(pointer)
#define ALLOCTAP_PREFETCH_FOR_WRITING(pointer) __builtin_prefetch(pointer, 1)

/// From here on the compiler knows nothing of what a variable holds.
#define ALLOCTAP_HIDE_VALUE(variable) __asm__("" : "+r"(variable))

/// A declaration of a function that may be nowhere in the program: its address is null then.
#define ALLOCTAP_WEAK __attribute__((weak))

/// Assembler, as a statement, for a file, or behind a variable for the register that it is to be
/// in. Its operands, sections and unwind rules are written as GNU's and LLVM's assemblers read
/// them.
#define ALLOCTAP_ASM __asm__

/// Tells an x86 processor that a loop waits for another thread.
#define ALLOCTAP_SPIN_HINT() __builtin_ia32_pause()

/// Lets the processor execute what was written between `begin` and `end`.
#define ALLOCTAP_CLEAR_INSTRUCTION_CACHE(begin, end) __builtin___clear_cache(begin, end)

/// What the architecture keeps of the calling thread, as a `void*`.
#define ALLOCTAP_THREAD_POINTER() __builtin_thread_pointer()

/// Thread-local storage that is reached without a call. The general model may call
/// `__tls_get_addr`, which may call malloc.
#define ALLOCTAP_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

/// The address that the current function returns to.
#define ALLOCTAP_RETURN_ADDRESS() __builtin_return_address(0)

/// The frame address of the current function; makes the compiler keep a frame pointer in it.
#define ALLOCTAP_FRAME_ADDRESS() __builtin_frame_address(0)

/// Where the current function was called from, as a `CallOrigin`.
#define ALLOCTAP_CALL_ORIGIN()                                              \
  ::alloctap::CallOrigin {                                                  \
    .caller = ALLOCTAP_RETURN_ADDRESS(), .frame = ALLOCTAP_FRAME_ADDRESS(), \
    .place = ::alloctap::arch::this_place()                                 \
  }

/// In a template over a config `C`: refuses a member type of that name, which would change nothing,
/// and says which slot is meant. The name of a config, which is a member of itself, is none.
#define ALLOCTAP_SLIP(slip, slot)                           \
  static_assert(                                            \
      !requires {                                           \
        typename C::slip;                                   \
        requires !::std::is_base_of_v<typename C::slip, C>; \
      }, "Config::" #slip " is not a slot; it is called Config::" #slot)
/// The same of a member that is a value.
#define ALLOCTAP_VALUE_SLIP(slip, slot) \
  static_assert(                        \
      !requires { C::slip; }, "Config::" #slip " is not a slot; it is called Config::" #slot)
