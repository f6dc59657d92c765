#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *engine_allocate(size_t count, size_t size);
void engine_free(void *block);

#ifdef __cplusplus
}
#endif
