/// The version of the library; CMakeLists.txt states the same number and a test compares them.
#pragma once

namespace alloctap {

inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 2;
inline constexpr int kVersionPatch = 0;
inline constexpr char kVersionString[] = "0.2.0";

}  // namespace alloctap
