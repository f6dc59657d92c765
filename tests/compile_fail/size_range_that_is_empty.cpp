// EXPECT: the range is empty: min_bytes is above max_bytes
#include <alloctap/sample/size_range.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
using Sampling = alloctap::SizeRange<2, 1>;
#else
using Sampling = alloctap::SizeRange<2, 2>;
#endif

int main() { return Sampling::records_everything() ? 0 : 1; }
