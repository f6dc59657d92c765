// The bodies of meta/.
#include "alloctap/meta/impl/flat_hash_index.hpp"
#include "alloctap/meta/impl/mapping_container.hpp"
