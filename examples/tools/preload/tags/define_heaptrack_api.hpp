/// The functions by which programs tell heaptrack of their pools.
#pragma once

#include <alloctap/heaptrack_api.hpp>

ALLOCTAP_DEFINE_HEAPTRACK_API();
