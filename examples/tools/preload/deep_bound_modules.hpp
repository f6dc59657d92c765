/// Modules that the program opens with RTLD_DEEPBIND.
#pragma once

#include "if_linked.hpp"

namespace alloctap::run {

/// Such a module finds the C library's functions before the interposed ones: what it frees would
/// not be seen, and a block with guards would come to an allocator that does not know it. From now
/// on the slots through which it calls are redirected as soon as dlopen returns. Until then, this
/// thread's calls are not recorded, and its blocks not checked: they may be freed past this object.
///
/// Null in objects that export no malloc and no dlopen. Control plane; called once, before this
/// object calls dlopen.
ALLOCTAP_IF_LINKED void redirect_deep_bound_modules() noexcept;

/// Whether there have been such modules: what they allocated in their constructors is not known.
/// Null where the former is.
ALLOCTAP_IF_LINKED bool has_deep_bound_modules() noexcept;

}  // namespace alloctap::run
