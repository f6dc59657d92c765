#include "all_headers.hpp"

// What the other translation unit sees of a constant that both include.
const void* address_in_second() noexcept;

int main() { return address_in_second() == &alloctap::kVersionString ? 0 : 1; }
