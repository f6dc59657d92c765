// Whether this is built with ThreadSanitizer. It starts no thread in the child of a process that
// has several, and keeps memory of its own for each word that is touched.
#pragma once

namespace alloctap::testing {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace alloctap::testing
