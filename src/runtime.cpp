// The bodies of runtime/.
#include "alloctap/runtime/impl/arena.hpp"
#include "alloctap/runtime/impl/file_contents.hpp"
#include "alloctap/runtime/impl/fork_handlers.hpp"
#include "alloctap/runtime/impl/futex_lock.hpp"
#include "alloctap/runtime/impl/shadow_memory.hpp"
#include "alloctap/runtime/impl/text_pool.hpp"
#include "alloctap/runtime/impl/thread_state.hpp"
