// The bodies of PltHook.
#include "alloctap/hook/plt/impl/engine.hpp"
#include "alloctap/hook/plt/impl/pass.hpp"
