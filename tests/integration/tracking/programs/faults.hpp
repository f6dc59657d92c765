// Instructions that end a program, in assembly because compilers make of them what they like.
#pragma once

#include <csignal>

/// Where no division traps, the signal of one that does.
inline void divide_by_zero() {
#if defined(__x86_64__)
  int quotient = 1;
  int remainder = 0;
  asm volatile("idivl %2" : "+a"(quotient), "+d"(remainder) : "r"(0));
#else
  std::raise(SIGFPE);
#endif
}

inline void run_no_instruction() {
#if defined(__x86_64__)
  asm volatile("ud2");
#else
  asm volatile("udf #0");
#endif
}

inline void hit_breakpoint() {
#if defined(__x86_64__)
  asm volatile("int3");
#else
  asm volatile("brk #0");
#endif
}
