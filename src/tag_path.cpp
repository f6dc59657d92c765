// Tags by their paths.
#include "alloctap/tag/impl/tag_path.hpp"
