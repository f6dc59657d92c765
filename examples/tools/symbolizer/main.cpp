/// alloctap-symbolize: names addresses for a tracked program, in a process of its own. libdw
/// allocates, and its libraries are many: neither may happen inside of a program that has crashed
/// or whose memory is being counted.
///
/// Reads requests from standard input to its end, then answers on standard output; see
/// symbol_exchange.hpp.
#include <signal.h>
#include <unistd.h>

#include <alloctap/symbol/libdw_files.hpp>
#include <alloctap/symbol/libdw_symbolizer.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbol_exchange.hpp"

namespace alloctap::run {
namespace {

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The process, the module and the addresses of one request; false where the request is not whole.
bool read_request(ExchangeReader& reader, std::int64_t& process, Module& module,
                  std::vector<std::uintptr_t>& addresses) {
  ModuleRequest request;
  if (!reader.read(request) || request.build_id_bytes > sizeof module.build_id ||
      !reader.read_text(request.path_bytes, module.path)) {
    return false;
  }
  process = request.process;
  module.is_gone = request.is_gone != 0;
  module.start = request.start;
  module.end = request.end;
  module.bias = request.bias;
  module.build_id_bytes = request.build_id_bytes;
  std::memcpy(module.build_id, request.build_id, sizeof module.build_id);
  for (std::uint64_t i = 0; i < request.places; ++i) {
    std::uintptr_t address = 0;
    if (!reader.read(address)) return false;
    addresses.push_back(address);
  }
  return true;
}

/// Answers for one module, whose first place has the number `first`.
void answer(const Module& module, std::span<const std::uintptr_t> addresses, std::size_t first,
            std::string& answers) {
  std::vector<CodeAddress> places;
  places.reserve(addresses.size());
  for (const std::uintptr_t address : addresses) places.push_back({address, &module});
  Symbols symbols;
  if (!symbols.expect(places.size())) return;
  LibdwSymbolizer::symbolize(places, symbols);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const SourceFrame& frame : symbols.of(i)) {
      append(answers,
             FrameAnswer{.place = static_cast<std::uint32_t>(first + i),
                         .line = frame.line,
                         .function_bytes = static_cast<std::uint32_t>(frame.function.size()),
                         .file_bytes = static_cast<std::uint32_t>(frame.file.size())});
      answers.append(frame.function).append(frame.file);
    }
  }
}

int serve() {
  // Nobody waits longer, and signals may be blocked: the program's were when this was started.
  constexpr unsigned kTimeoutNs = 300;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  alarm(kTimeoutNs);
  const std::string requests = read_all(STDIN_FILENO);
  ExchangeReader reader(requests);
  std::string answers;
  for (std::size_t first = 0; !reader.at_end();) {
    std::int64_t process = 0;
    Module module;
    std::vector<std::uintptr_t> addresses;
    if (!read_request(reader, process, module, addresses)) return 2;
    const std::string directory = "/proc/" + std::to_string(process);
    libdw::process_directory = directory;
    answer(module, addresses, first, answers);
    first += addresses.size();
  }
  if (const std::string_view hint = LibdwSymbolizer::note(); !hint.empty()) {
    append(answers,
           FrameAnswer{.place = kHint, .function_bytes = static_cast<std::uint32_t>(hint.size())});
    answers.append(hint);
  }
  append(answers, FrameAnswer{.place = kEndOfAnswers});
  return os::write_all(STDOUT_FILENO, answers) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace alloctap::run

int main() {
  try {
    return alloctap::run::serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "alloctap-symbolize: %s\n", error.what());
    return 1;
  }
}
