// The bodies of stack/ that know where stacks are, and keep their frames.
#include "alloctap/stack/impl/fibers.hpp"
#include "alloctap/stack/impl/stack_chain.hpp"
#include "alloctap/stack/impl/thread_stacks.hpp"
#include "alloctap/stack/impl/verified_chain.hpp"
#include "alloctap/stack/impl/walked_frames.hpp"
