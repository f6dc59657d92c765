// The bodies of stack/ that know where stacks are, and keep their frames.
#include "alloctap/stack/impl/cached_frame_chain.hpp"
#include "alloctap/stack/impl/chain_walk.hpp"
#include "alloctap/stack/impl/fibers.hpp"
#include "alloctap/stack/impl/thread_stacks.hpp"
