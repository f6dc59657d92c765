// What programs whose symbols are looked at compile once: it defines nothing that they do not use.
#pragma once

#include <alloctap/implement.hpp>
