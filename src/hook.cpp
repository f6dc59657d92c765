// The bodies of hook/.
#include "alloctap/hook/impl/hook_backend.hpp"
