// elf/impl/
#include "alloctap/elf/impl/annotation_slots.hpp"
#include "alloctap/elf/impl/mapped_image.hpp"
