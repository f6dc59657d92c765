/// What only some of the preloaded objects have.
#pragma once

/// Before a declaration: its address is null in objects that are linked without the definition.
#define ALLOCTAP_IF_LINKED __attribute__((weak, visibility("hidden")))
