/// What the library of plugin.cpp and its programs know of each other.
#pragma once

#include <cstddef>

namespace alloctap::testing {

/// What its DllMain allocates; freed when it is unloaded.
inline constexpr std::size_t kBytesOfDllMain = 12'345;

/// An event that its DllMain sets, where there is one, before it stays there for 300 ms.
inline constexpr const wchar_t* kPluginEntered = L"Local\\alloctap.test.plugin.entered";

using PluginAllocate = void*(std::size_t bytes);
using PluginFree = void(void* block);
using PluginCopy = void(void* to, const void* from, std::size_t bytes);

}  // namespace alloctap::testing
