/// Names for threads, as the system keeps them.
#pragma once

#if defined(_WIN32)
#include "alloctap/os/windows/api.hpp"
#else
#include <pthread.h>
#endif

namespace alloctap::testing {

#if defined(_WIN32)

/// By SetThreadDescription, which the compiler's import libraries lack. `name` is ASCII.
inline void name_this_thread(const char* name) {
  using Function = HRESULT WINAPI(HANDLE, const wchar_t*);
  const HMODULE library = ::GetModuleHandleW(L"kernelbase.dll");
  void* const found = reinterpret_cast<void*>(::GetProcAddress(library, "SetThreadDescription"));
  wchar_t wide[64] = {};
  for (int i = 0; i < 63 && name[i] != '\0'; ++i) wide[i] = static_cast<wchar_t>(name[i]);
  if (found != nullptr) reinterpret_cast<Function*>(found)(::GetCurrentThread(), wide);
}

#else

/// At most 15 characters.
inline void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

#endif

}  // namespace alloctap::testing
