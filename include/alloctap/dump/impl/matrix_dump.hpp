/// Definitions for dump/matrix_dump.hpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/export/json_data_quality.hpp"
#include "alloctap/dump/export/stack_weights.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/matrix_dump.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// Implements `MatrixDump::write`.
class MatrixWriting {
 public:
  MatrixWriting(const MatrixDump& options, const Report& report, DumpWriter& out)
      : options_(options),
        report_(report),
        out_(out),
        blocks_(report, report.snapshot.stacks),
        mappings_(report, report.snapshot.mappings),
        account_(report),
        json_(out) {}

  void write() {
    if (!blocks_.complete() || !mappings_.complete() || !account_.complete()) {
      return out_.fail("matrix: the system has no memory for modules");
    }
    json_.begin_object();
    write_modules("SoNativeSize", blocks_);
    write_stacks("NativeHeap", blocks_);
    write_modules("SoMmapSize", mappings_);
    write_stacks("mmap", mappings_);
    write_json_account(account_, json_);
    json_.end_object();
    out_ << '\n';
    if (!complete_) out_.fail("matrix: the system has no memory for stacks");
  }

 private:
  void write_size(std::uint64_t bytes) {
    char digits[24];
    const char* end = std::to_chars(digits, digits + sizeof digits, bytes).ptr;
    json_.text("size", {digits, static_cast<std::size_t>(end - digits)});
  }

  void write_modules(const char* key, const ModuleStacks& memory) {
    json_.key(key);
    json_.begin_array();
    for (const HoldingModule& module : memory.modules()) {
      json_.begin_object();
      json_.text("so", module.name());
      write_size(module.bytes);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_stacks(const char* key, const ModuleStacks& memory) {
    json_.key(key);
    json_.begin_array();
    std::size_t shown = 0;
    for (const HoldingModule& module : memory.modules()) {
      if (shown == options_.most_modules || module.bytes < options_.least_bytes) break;
      ++shown;
      json_.begin_object();
      json_.text("so", module.name());
      write_size(module.bytes);
      write_top_stacks(memory.stacks_of(module));
      json_.end_object();
    }
    json_.end_array();
  }

  void write_top_stacks(std::span<const HoldingStack> stacks) {
    json_.key("top_stacks");
    json_.begin_array();
    for (const HoldingStack& stack : stacks.first(std::min(stacks.size(), options_.most_stacks))) {
      json_.begin_object();
      write_size(stack.bytes);
      json_.text("stack", brief(stack.stack));
      json_.end_object();
    }
    json_.end_array();
  }

  /// Returns the stack as text. Omits a module's path if it equals that of the previous frame.
  [[nodiscard]] std::string_view brief(StackId stack) {
    text_.clear();
    const Module* last = nullptr;
    bool first = true;
    for (const std::uintptr_t frame : report_.snapshot.table->frames(stack)) {
      const std::uintptr_t call = call_address(frame);
      const Module* module = report_.modules.find(call, stack);
      if (first || module != last) append(HoldingModule{.module = module}.name());
      first = false;
      last = module;
      char digits[24];
      const std::uintptr_t place = module == nullptr ? call : call - module->bias;
      const char* end = std::to_chars(digits, digits + sizeof digits, place, 16).ptr;
      append({digits, static_cast<std::size_t>(end - digits)});
    }
    return {text_.data(), text_.size()};
  }

  void append(std::string_view part) {
    for (const char character : part) complete_ = text_.push_back(character) && complete_;
    complete_ = text_.push_back(';') && complete_;
  }

  const MatrixDump& options_;
  const Report& report_;
  DumpWriter& out_;
  ModuleStacks blocks_;
  ModuleStacks mappings_;
  AccountList account_;
  JsonBuilder json_;
  ArenaArray<char> text_;
  bool complete_ = true;
};

ALLOCTAP_INLINE void MatrixDump::write(const Report& report, DumpWriter& out) const {
  MatrixWriting(*this, report, out).write();
}

static_assert(DumpPolicy<MatrixDump>);

}  // namespace alloctap
