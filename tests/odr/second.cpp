#include "all_headers.hpp"

const void* address_in_second() noexcept;
const void* address_in_second() noexcept { return &alloctap::kVersionString; }
