/// The portable parts of alloctap in one header. Hook backends other than the manual one, and dumps
/// and symbolizers that need a library, are included one by one: see README.md beside this file.
#pragma once

#include "alloctap/config.hpp"
#include "alloctap/dump/callback_output.hpp"
#include "alloctap/dump/descriptor_output.hpp"
#include "alloctap/dump/file_output.hpp"
#include "alloctap/dump/memory_output.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/memory_meta_container.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/sample/every_allocation.hpp"
#include "alloctap/stack/backtrace_stack.hpp"
#include "alloctap/stack/frame_pointer_stack.hpp"
#include "alloctap/stack/no_stack.hpp"
#include "alloctap/stack/selectable_stack.hpp"
#include "alloctap/symbol/no_symbolizer.hpp"
#include "alloctap/tracker.hpp"
#include "alloctap/version.hpp"
