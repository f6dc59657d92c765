/// Parts of the address space, as tests need them.
///
/// `kAddressStep`: they begin and end at multiples of it. `take_addresses(start, bytes)`: takes
/// them; false where something is mapped. `give_addresses_back(start, bytes)`. And
/// `map_code_before_gap()`: `kAddressStep` bytes that may be read, written and executed, behind
/// which nothing is mapped, or nullptr; os::unmap_pages gives them back.
#pragma once

#if defined(_WIN32)
#include "tests/support/windows/address_space.hpp"
#else
#include "tests/support/linux/address_space.hpp"
#endif
