// The bodies of hook/ for PltHook.
#include "alloctap/hook/impl/memory_regions.hpp"
#include "alloctap/hook/impl/module_selection.hpp"
#include "alloctap/hook/impl/plt_engine.hpp"
#include "alloctap/hook/impl/plt_pass.hpp"
#include "alloctap/hook/impl/plt_report.hpp"
#include "alloctap/hook/impl/plt_state.hpp"
#include "alloctap/hook/impl/plt_target.hpp"
#include "alloctap/hook/impl/slot_writer.hpp"
