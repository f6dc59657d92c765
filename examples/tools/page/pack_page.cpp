// usage: pack_page OUTPUT
// Writes a header that stands in the place of alloctap/dump/html_page.hpp, with the page
// compressed.
#include <zlib.h>

#include <alloctap/dump/html_page.hpp>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string joined(std::span<const std::string_view> pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

std::vector<unsigned char> packed(const std::string& text) {
  std::vector<unsigned char> bytes(compressBound(static_cast<uLong>(text.size())));
  auto size = static_cast<uLongf>(bytes.size());
  const auto* from = reinterpret_cast<const Bytef*>(text.data());
  const int state =
      compress2(bytes.data(), &size, from, static_cast<uLong>(text.size()), Z_BEST_COMPRESSION);
  bytes.resize(state == Z_OK ? size : 0);
  return bytes;
}

std::string definition(const char* name, std::span<const std::string_view> pieces) {
  std::string text = "inline constexpr unsigned char kBytesOf" + std::string(name) + "[] = {";
  std::size_t count = 0;
  for (const unsigned char byte : packed(joined(pieces))) {
    text += (count++ % 24 == 0 ? "\n" : "") + std::to_string(byte) + ",";
  }
  return text + "};\ninline constexpr PackedText k" + name + "{kBytesOf" + name + "};\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string text =
      "#pragma once\n\n#include \"page/packed_text.hpp\"\n\nnamespace alloctap {\n" +
      definition("HtmlPageStart", alloctap::kHtmlPageStart) +
      definition("HtmlPageMiddle", alloctap::kHtmlPageMiddle) +
      definition("HtmlPageEnd", alloctap::kHtmlPageEnd) + "}  // namespace alloctap\n";
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr) return 1;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written ? 0 : 1;
}
