// The bodies of check/.
#include "alloctap/check/impl/block_faults.hpp"
#include "alloctap/check/impl/block_sweep.hpp"
#include "alloctap/check/impl/checked_block.hpp"
#include "alloctap/check/impl/guarded_blocks.hpp"
#include "alloctap/check/impl/misuse_log.hpp"
#include "alloctap/check/impl/selectable_checks.hpp"
