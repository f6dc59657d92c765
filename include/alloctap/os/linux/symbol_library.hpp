/// Definitions for systems without a library for debug information.
#pragma once

#include <cerrno>

#include "alloctap/os/symbol_library.hpp"

namespace alloctap::os {

/// Empty, because Linux has no such library.
inline constexpr std::string_view kSymbolLibrary;

inline int load_symbol_library() noexcept { return -ENOSYS; }

inline LibrarySymbols::LibrarySymbols(std::string_view, std::uintptr_t, std::size_t) noexcept {}
inline LibrarySymbols::~LibrarySymbols() = default;

template <class Visit>
void LibrarySymbols::visit_frames(std::uintptr_t, Visit&&) const noexcept {}

}  // namespace alloctap::os
