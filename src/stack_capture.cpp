// The bodies of stack/ that know where stacks are, and keep their frames.
#include "alloctap/stack/impl/cached_frame_chain.hpp"
#include "alloctap/stack/impl/fibers.hpp"
#include "alloctap/stack/impl/stack_chain.hpp"
#include "alloctap/stack/impl/thread_stacks.hpp"
#include "alloctap/stack/impl/unwind_buffer.hpp"
