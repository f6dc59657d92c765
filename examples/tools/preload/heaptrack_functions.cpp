// The functions by which programs tell heaptrack of their pools; nobody hears without --tags.
#include <alloctap/heaptrack_api.hpp>

ALLOCTAP_DEFINE_HEAPTRACK_API();
