/// The C library's own signal functions, behind the interposed ones.
#pragma once

#include <signal.h>

#include <alloctap/os/loaded_images.hpp>

namespace alloctap::run {

using SignalHandler = void (*)(int);

/// The next definition of the function that `Signature` and `name` tell, looked up once.
template <class Signature>
Signature* next_function(Signature*& known, const char* name) noexcept {
  if (known == nullptr) known = reinterpret_cast<Signature*>(os::next_symbol(name));
  return known;
}

inline int real_sigaction(int signal, const struct sigaction* action,
                          struct sigaction* before) noexcept {
  using Signature = int(int, const struct sigaction*, struct sigaction*);
  static constinit Signature* function = nullptr;
  return next_function(function, "sigaction")(signal, action, before);
}

}  // namespace alloctap::run
