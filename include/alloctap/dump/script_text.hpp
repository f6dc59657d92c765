/// Text inside of an HTML script element.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Takes JSON and writes the same JSON so that no text in it ends the script element or begins a
/// comment there: '/' and '!' behind '<' are escaped, which only strings can hold (HTML Living
/// Standard, 4.12.1.3 "Restrictions for contents of script elements"). Takes pieces cut anywhere.
/// Models `DumpOutput`; to make the page final is its writer's business.
class ScriptText {
 public:
  explicit ScriptText(DumpWriter& out) noexcept : out_(out) {}

  Status open() { return Status(); }
  Status commit() { return Status(); }

  Status write(std::string_view json) {
    std::size_t written = 0;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const bool dangerous = last_ == '<' && (json[i] == '/' || json[i] == '!');
      last_ = json[i];
      if (!dangerous) continue;
      out_ << json.substr(written, i - written) << (json[i] == '/' ? "\\/" : "\\u0021");
      written = i + 1;
    }
    out_ << json.substr(written);
    return out_.ok() ? Status() : Status::cancelled("the page cannot be written");
  }

 private:
  DumpWriter& out_;
  char last_ = '\0';
};

static_assert(DumpOutput<ScriptText>);

}  // namespace alloctap
