/// A library of ours in another process, which has not run its first instruction yet.
#pragma once

#include <cstdint>
#include <string>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"

namespace alloctap::run {

/// Loads the library at this absolute path into `process`, a 64-bit one, and waits until its
/// DllMain has returned.
[[nodiscard]] Status load_library_into(HANDLE process, const std::wstring& path);

/// Calls a function of a library that was loaded there: an export that takes a text, which ends
/// with
/// '\0', and whose result is that of a thread.
[[nodiscard]] Result<std::uint32_t> call_library_in(HANDLE process, const std::wstring& path,
                                                    const char* function, const std::string& text);

}  // namespace alloctap::run
