// The bodies of hook/ that choose modules and write to them.
#include "alloctap/hook/impl/memory_regions.hpp"
#include "alloctap/hook/impl/module_selection.hpp"
#include "alloctap/hook/impl/plt_target.hpp"
#include "alloctap/hook/impl/slot_writer.hpp"
