// The bodies of tag/.
#include "alloctap/tag/impl/tag_table.hpp"
