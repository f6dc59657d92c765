// The bodies of snapshot/reach/: the scan for unreachable blocks.
#include "alloctap/snapshot/reach/impl/frozen_scan.hpp"
#include "alloctap/snapshot/reach/impl/reachability_scan.hpp"
