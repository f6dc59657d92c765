// The sections of a text report that not every tracker has.
#include "alloctap/dump/text/impl/text_sections.hpp"
