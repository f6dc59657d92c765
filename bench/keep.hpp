/// What keeps a compiler from leaving out what is measured.
#pragma once

namespace alloctap::bench {

/// All memory that others can reach may be read and changed here, as far as the compiler knows.
inline void clobber_memory() { asm volatile("" : : : "memory"); }

/// `value` is looked at here, as far as the compiler knows.
template <class T>
void keep(T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

}  // namespace alloctap::bench
