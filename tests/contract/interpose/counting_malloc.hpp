/// How often the allocator behind the interposed one was entered.
#pragma once

#include <cstddef>

extern "C" std::size_t calls_of_the_original() noexcept;
