// The bodies of PltHook.
#include "alloctap/hook/impl/plt_engine.hpp"
#include "alloctap/hook/impl/plt_pass.hpp"
#include "alloctap/hook/impl/plt_report.hpp"
#include "alloctap/hook/impl/plt_state.hpp"
