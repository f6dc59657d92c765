// The bodies of snapshot/ that read what a tracker has recorded.
#include "alloctap/snapshot/impl/take_snapshot.hpp"
