// Lua, a program of others, runs under a tracker, and an allocator that counts stands beside it.
#include <doctest/doctest.h>

#include <alloctap/dump/impl/outputs.hpp>
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/hook/windows_import_hook.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/message_text.hpp>
#include <alloctap/symbol/system_symbolizer.hpp>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

extern "C" {
#include <lauxlib.h>
#include <lualib.h>

#include "alloctap/status.hpp"
}

namespace {

using Json = nlohmann::json;

struct LuaConfig : alloctap::DefaultConfig {
  using Hook = alloctap::WindowsImportHook;
  using Symbolizer = alloctap::DefaultSymbolizer;
};
using Tracker = alloctap::Tracker<LuaConfig>;

struct Counts {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

constexpr const char* kScript = R"(
  local words = {}
  for i = 1, 3000 do words[i] = ("word " .. i):rep(i % 7 + 1) end
  table.sort(words, function(a, b) return #a == #b and a < b or #a < #b end)
  local lengths = setmetatable({}, {__index = function() return 0 end})
  for _, word in ipairs(words) do lengths[#word] = lengths[#word] + 1 end
  local coroutines = {}
  for i = 1, 50 do coroutines[i] = coroutine.create(function(...) coroutine.yield(...) end) end
  for i = 1, 50 do coroutine.resume(coroutines[i], i, words[i]) end
  kept = {words = words, lengths = lengths, coroutines = coroutines}
  for word in table.concat(words, ","):gmatch("[^,]+") do words[word] = string.format("%q", word) end
)";

void count_end(Counts& counts, std::size_t bytes) {
  --counts.live_allocations;
  counts.live_bytes -= bytes;
}

void count_beginning(Counts& counts, std::size_t bytes) {
  ++counts.allocations;
  counts.allocated_bytes += bytes;
  ++counts.live_allocations;
  counts.live_bytes += bytes;
}

/// What the tracker has of the stacks that go through the allocator below.
Counts counts_of(const Json& report) {
  Counts counts;
  for (const Json& stack : report.at("stacks")) {
    bool through_lua = false;
    for (const std::size_t index : stack.at("frames")) {
      const Json& function = report.at("frames").at(index).at("function");
      through_lua = through_lua || (function.is_string() && function == "counting_allocator");
    }
    if (!through_lua) continue;
    counts.allocations += stack.at("allocations").get<std::uint64_t>();
    counts.allocated_bytes += stack.at("allocated_bytes").get<std::uint64_t>();
    counts.live_allocations += stack.at("live_allocations").get<std::uint64_t>();
    counts.live_bytes += stack.at("live_bytes").get<std::uint64_t>();
  }
  return counts;
}

Json report() {
  alloctap::MemoryOutput output;
  const alloctap::Status status = Tracker::dump(alloctap::JsonDump{}, output);
  CAPTURE(to_string(status));
  REQUIRE(status.ok());
  return Json::parse(output.text());
}

void check_equal(const Counts& tracked, const Counts& counted) {
  CHECK(tracked.allocations == counted.allocations);
  CHECK(tracked.allocated_bytes == counted.allocated_bytes);
  CHECK(tracked.live_allocations == counted.live_allocations);
  CHECK(tracked.live_bytes == counted.live_bytes);
}

}  // namespace

/// As Lua's own. A reallocation is the end of one block and the beginning of another one.
extern "C" void* counting_allocator(void* context, void* block, std::size_t old_bytes,
                                    std::size_t bytes) {
  auto& counts = *static_cast<Counts*>(context);
  void* const result = bytes > 0 ? std::realloc(block, bytes) : nullptr;
  if (bytes == 0) std::free(block);
  if (bytes > 0 && result == nullptr) return nullptr;
  if (block != nullptr) count_end(counts, old_bytes);
  if (bytes > 0) count_beginning(counts, bytes);
  return result;
}

TEST_CASE("the tracker has what Lua's allocator counts, and names Lua's functions") {
  const auto session = Tracker::start();
  CAPTURE(to_string(session.status()));
  REQUIRE(session.ok());
  Counts counts;
  lua_State* const lua = lua_newstate(&counting_allocator, &counts);
  REQUIRE(lua != nullptr);
  luaL_openlibs(lua);
  const bool ran = luaL_dostring(lua, kScript) == LUA_OK;
  const std::string error = ran ? "" : lua_tostring(lua, -1);
  CAPTURE(error);
  REQUIRE(ran);

  const Counts at_end = counts;
  const Json running = report();
  CHECK(at_end.allocations > 10'000);
  CHECK(at_end.live_bytes > 100'000);
  check_equal(counts_of(running), at_end);
  std::set<std::string> functions;
  std::set<std::string> files;
  for (const Json& frame : running.at("frames")) {
    if (frame.at("function").is_string()) functions.insert(frame.at("function"));
    if (!frame.at("file").is_string()) continue;
    const std::string path = frame.at("file");
    files.insert(path.substr(path.find_last_of("/\\") + 1));
  }
  for (const std::string function :
       {"luaV_execute", "luaH_resize", "luaM_malloc_", "lua_newthread"}) {
    CAPTURE(function);
    CHECK(functions.count(function) == 1);
  }
  for (const std::string file : {"lvm.c", "ltable.c", "lstring.c", "lparser.c"}) {
    CAPTURE(file);
    CHECK(files.count(file) == 1);
  }

  lua_close(lua);
  CHECK(counts.live_bytes == 0);
  check_equal(counts_of(report()), counts);
}
