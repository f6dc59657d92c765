// The bodies of event/.
#include "alloctap/event/impl/offered_annotations.hpp"
