/// Definitions for check/selectable_checks.hpp.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

#include "alloctap/check/close_name.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/check/selectable_checks.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE Result<CheckSettings> CheckOptionParser::parse() {
  for (skip(kBetween); !left_.empty(); skip(kBetween)) read_option();
  if (problems_.empty()) return settings_;
  return Status::invalid_argument(problems_);
}

ALLOCTAP_INLINE std::string_view CheckOptionParser::take_until(std::string_view characters) {
  const std::string_view taken = left_.substr(0, left_.find_first_of(characters));
  left_.remove_prefix(taken.size());
  return taken;
}

ALLOCTAP_INLINE void CheckOptionParser::read_option() {
  const std::string_view name = take_until(kEndOfName);
  const std::string_view after_name = left_;
  skip(kSpaces);
  const bool has_value = left_.starts_with('=');
  std::string_view value;
  if (has_value) {
    left_.remove_prefix(1);
    skip(kSpaces);
    value = take_until(kBetween);
  } else {
    left_ = after_name;
  }
  const CheckOption* const option = find(name);
  if (option == nullptr) return add_unknown(name);
  apply(*option, has_value, value);
}

ALLOCTAP_INLINE const CheckOption* CheckOptionParser::find(std::string_view name) {
  for (const CheckOption& option : kCheckOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

ALLOCTAP_INLINE void CheckOptionParser::apply(const CheckOption& option, bool has_value,
                                              std::string_view value) {
  std::uint64_t number = option.preset;
  if (has_value && option.value == CheckOption::Value::kNone) {
    return add_problem(option.name, "takes no value; write it alone");
  }
  if (option.value == CheckOption::Value::kKinds) return read_kinds(option, has_value, value);
  if (has_value && !read_number(value, option, number)) return;
  if (option.apply != nullptr) option.apply(settings_, number);
}

ALLOCTAP_INLINE bool CheckOptionParser::read_number(std::string_view value,
                                                    const CheckOption& option,
                                                    std::uint64_t& number) {
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  const bool is_number = error == std::errc{} && stop == end;
  if (is_number && number >= option.least && number <= option.most) return true;
  add_problem(option.name, join_text("\"", value, "\" is no whole number from ", option.least,
                                     " to ", option.most));
  return false;
}

ALLOCTAP_INLINE void CheckOptionParser::read_kinds(const CheckOption& option, bool has_value,
                                                   std::string_view value) {
  if (!has_value) settings_.abort_on = MisuseKinds::all();
  for (bool more = has_value; more;) {
    const std::size_t end = value.find('+');
    add_kind(option, value.substr(0, end));
    more = end != value.npos;
    value.remove_prefix(more ? end + 1 : value.size());
  }
}

ALLOCTAP_INLINE void CheckOptionParser::add_kind(const CheckOption& option, std::string_view key) {
  const std::optional<MisuseKind> kind = misuse_kind_of(key);
  if (kind) return settings_.abort_on.add(*kind);
  std::string keys;
  for (std::size_t i = 0; i < kMisuseKinds; ++i) {
    append_text(keys, keys.empty() ? "" : ", ", key_of(static_cast<MisuseKind>(i)));
  }
  add_problem(option.name,
              join_text("\"", key, "\" is no kind of fault; write it alone, or some of ", keys,
                        " with + between them"));
}

ALLOCTAP_INLINE void CheckOptionParser::add_unknown(std::string_view name) {
  for (const AbsentCheckOption& absent : kAbsentCheckOptions) {
    const bool is_it = absent.name == name || (!name.empty() && absent.alias == name);
    if (is_it) return add_problem(name, join_text("is not to be had here: ", absent.why));
  }
  CloseName close(name);
  std::string names;
  for (const CheckOption& option : kCheckOptions) {
    if (!has_effect(option)) continue;
    close.offer(option.name);
    append_text(names, names.empty() ? "" : ", ", option.name);
  }
  const std::string_view meant = close.found();
  add_problem(name, meant.empty() ? join_text("is unknown; write some of ", names)
                                  : join_text("is unknown; did you mean ", meant, "?"));
}

}  // namespace alloctap
