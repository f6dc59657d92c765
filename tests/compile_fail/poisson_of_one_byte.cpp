// EXPECT: a mean of one byte samples everything: say EveryAllocation
#include <alloctap/sample/poisson_by_bytes.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
using Sampling = alloctap::PoissonByBytes<1>;
#else
using Sampling = alloctap::PoissonByBytes<2>;
#endif

int main() { return Sampling::records_everything() ? 1 : 0; }
