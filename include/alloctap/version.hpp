/// The version of the library. A test checks that CMakeLists.txt has an equal version.
#pragma once

namespace alloctap {

inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 2;
inline constexpr int kVersionPatch = 0;
inline constexpr char kVersionString[] = "0.2.0";

}  // namespace alloctap
