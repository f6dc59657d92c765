/// The version of the library. A test compares it with the one in CMakeLists.txt.
#pragma once

namespace alloctap {

inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 2;
inline constexpr int kVersionPatch = 0;
inline constexpr char kVersionString[] = "0.2.0";

}  // namespace alloctap
