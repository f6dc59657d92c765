#include <doctest/doctest.h>

#include <array>
#include <string>

#include "alloctap/symbol/rust_demangler.hpp"

namespace {

using alloctap::demangle_rust;

std::string demangle(const std::string& symbol) {
  std::array<char, 4096> buffer;
  return std::string(demangle_rust(symbol, buffer));
}

std::string rewrite(std::string name) {
  name.resize(alloctap::rewrite_legacy_rust(name));
  return name;
}

/// What refers to the `position`-th character behind "_R".
std::string reference_to(std::size_t position) {
  constexpr std::string_view kDigits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (position == 0) return "B_";
  std::string digits;
  for (std::size_t rest = position - 1; digits.empty() || rest > 0; rest /= kDigits.size()) {
    digits.insert(0, 1, kDigits[rest % kDigits.size()]);
  }
  return "B" + digits + "_";
}

struct Vector {
  const char* symbol;
  const char* name;
};

}  // namespace

// Symbols of rustc 1.95 and 1.97; names as c++filt has them, without hashes and types of constants.
TEST_CASE("functions of Rust have the names that their authors gave them") {
  const Vector vectors[] = {
      {"_RNvCs4G3j6e6H8OR_3hGv8closures", "hGv::closures"},
      {"_RNvXs_CskN_5namesNtB4_5StoreNtB4_4Grow4grow", "<names::Store as names::Grow>::grow"},
      {"_RNCNvCs4G3j6e6H8OR_3hGv4mains_0B3_", "hGv::main::{closure#1}"},
      {"_RNCNCNvCs4G3j6e6H8OR_3hGv8closures00B5_", "hGv::closures::{closure#0}::{closure#0}"},
      {"_RNSNvYNvCs4G3j6e6H8OR_3hGv8closuresINtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceuE9call_"
       "once6vtableB6_",
       "<hGv::closures as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}"},
      {"_RINvCs4G3j6e6H8OR_3hGv2tyFG_FG_RL1_hRL0_hEuEuEB2_",
       "hGv::ty::<for<'a> fn(for<'b> fn(&'a u8, &'b u8))>"},
      {"_RINvCs4G3j6e6H8OR_3hGv2tyFUKCPavElEB2_",
       "hGv::ty::<unsafe extern \"C\" fn(*const i8, ...) -> i32>"},
      {"_RINvCs4G3j6e6H8OR_3hGv2tyFK8C_unwindEuEB2_", "hGv::ty::<extern \"C-unwind\" fn()>"},
      {"_RINvCs4G3j6e6H8OR_3hGv2tyOAPhj4d_EB2_", "hGv::ty::<*mut [*const u8; 77]>"},
      {"_RINvCs4G3j6e6H8OR_3hGv2tyQRSReEB2_", "hGv::ty::<&mut &[&str]>"},
      {"_RINvCs4G3j6e6H8OR_3hGv2tyTbcfduThEzEEB2_",
       "hGv::ty::<(bool, char, f32, f64, (), (u8,), !)>"},
      {"_RINvCs4G3j6e6H8OR_3hGv3genDG0_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL1_eQL0_"
       "Ahj3_EEp6OutputuEL_EB2_",
       "hGv::gen::<dyn for<'a, 'b> core::ops::function::Fn<(&'a str, &'b mut [u8; 3]), Output = "
       "()>>"},
      {"_RINvCs4G3j6e6H8OR_3hGv3genDNtB2_1Tp1AmEL_EB2_", "hGv::gen::<dyn hGv::T<A = u32>>"},
      {"_RINvCs4G3j6e6H8OR_3hGv3genDNtNtCsgEmfK2I1SDS_4core3fmt5DebugNtNtBt_6marker4SendEL_EB2_",
       "hGv::gen::<dyn core::fmt::Debug + core::marker::Send>"},
      {"_RINvCs4G3j6e6H8OR_3hGvu17gdel__jua1991p0ecNtB2_u9Gre_6ka8iEB2_",
       "hGv::g\u00F6del_\u65E5\u672C::<hGv::Gr\u00F6\u00DFe>"},
      {"_RNvMCs4G3j6e6H8OR_3hGvINtB2_1SKj0_Kb1_Kc5c_Kan80_E1mB2_",
       "<hGv::S<0, true, '\\\\', -128>>::m"},
      {"_RINvC1a1uKoffffffffffffffffffffffffffffffff_E",
       "a::u::<0xffffffffffffffffffffffffffffffff>"},
      {"_RINvC1a1sKRe68225c0ac3a9_E", "a::s::<\"h\\\"\\\\\\n\u00E9\">"},
      {"_RINvC1a1pKVNtB2_1PS1xh3_1yTb1_c71_EEE", "a::p::<a::P { x: 3, y: (true, 'q') }>"},
      {"_RINvC1a1rKRAsn1_s2_EE", "a::r::<&[-1, 2]>"},
      {"_RNvC1a1f.llvm.1234567890", "a::f"},
  };
  for (const Vector& vector : vectors) {
    CAPTURE(vector.symbol);
    CHECK(demangle(vector.symbol) == std::string(vector.name));
  }
}

TEST_CASE("what is no symbol of Rust, or is damaged, has no such name") {
  for (const char* symbol :
       {"", "_R", "main", "_ZN4game4loadEv", "_RNvC1a", "_RNvC1a9f", "_RNvC1a1f!", "_RINvC1a1fB9_E",
        "_RINvC1a1bTB_E", "_RNvC1a1bszzzzzzzzzzzzzzzzzzzz_", "_RNvC1a99999999999999999999b",
        "_R0NvC1a1f", "_RINvC1a1fRL9_hE"}) {
    CAPTURE(symbol);
    CHECK(demangle(symbol).empty());
  }
}

TEST_CASE("a symbol whose name would never end is cut where the room ends") {
  // Each tuple has the one before it twice.
  std::string symbol = "NvC1a1f";
  std::string types;
  std::string last = "u";
  for (int i = 0; i < 40; ++i) {
    const std::size_t place = 1 + symbol.size() + types.size();
    types += "T" + last + last + "E";
    last = reference_to(place);
  }
  symbol = "_RI" + symbol + types + "E";
  CHECK(demangle(symbol).size() == 4096);
  CHECK(demangle(symbol).starts_with("a::f::<((), ()), (((), ()), ((), ())), "));
  CHECK(demangle("_RINvC1a1fFGzzzzzzz_EuE").size() == 4096);
  CHECK(demangle("_R" + std::string(100'000, 'I')).empty());
}

TEST_CASE("a damaged identifier stays as it is encoded") {
  CHECK(demangle("_RNvC1au3_!!") == "");
  CHECK(demangle("_RNvC1au9xn__99999") == "a::punycode{xn_-99999}");
}

TEST_CASE("a name is cut where the room ends, and no character in two") {
  std::array<char, 11> buffer;
  CHECK(demangle_rust("_RNvC3hGvu17gdel__jua1991p0ec", buffer) == "hGv::g\u00F6del");
  CHECK(demangle_rust("_RNvC3hGvu17gdel__jua1991p0ec", std::span(buffer).first(7)) == "hGv::g");
}

TEST_CASE("a name of the older mangling loses its hash and its escapes") {
  const Vector vectors[] = {
      {"names::main::h0123456789abcdef", "names::main"},
      {"_$LT$names..Store$u20$as$u20$names..Grow$GT$::grow::h0123456789abcdef",
       "<names::Store as names::Grow>::grow"},
      {"core::ptr::drop_in_place$LT$$RF$mut$u20$$u5b$u8$u3b$$u20$3$u5d$$GT$::h0123456789abcdef",
       "core::ptr::drop_in_place<&mut [u8; 3]>"},
      {"a::f::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef", "a::f::{{closure}}"},
      {"a::gr$uf6$$udf$e::h0123456789abcdef", "a::gr\u00F6\u00DFe"},
      {"a::odd$one$::h0123456789abcdef", "a::odd$one$"},
  };
  for (const Vector& vector : vectors) CHECK(rewrite(vector.symbol) == vector.name);
}

TEST_CASE("a name without such a hash is left alone") {
  for (const char* name : {"", "a::b", "game::h0123456789abcdef()", "a::h0123456789ABCDEF",
                           "a$LT$::h0123456789abcde"}) {
    CHECK(rewrite(name) == name);
  }
}
