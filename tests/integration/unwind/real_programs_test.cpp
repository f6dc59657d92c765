// In programs that nobody here wrote, every captured stack is what the compiler's unwinder sees, as
// far as that one does.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/integration/unwind/compared_program.hpp"

namespace {

using namespace alloctap::testing;

const std::string kTemplates = R"(
#include <algorithm>
#include <map>
#include <string>
#include <vector>
template <int N> struct Sum { static constexpr int value = N + Sum<N - 1>::value; };
template <> struct Sum<0> { static constexpr int value = 0; };
std::map<std::string, std::vector<std::map<int, std::string>>> table;
int f() { table["key"].push_back({{1, "one"}}); return Sum<500>::value; }
)";

/// Programs that not every builder has. The first is looked for where Debian puts it.
bool is_installed(const std::string& path) {
  const bool installed = std::filesystem::exists(path);
  if (!installed) MESSAGE(path << " is not installed; nothing was compared there");
  return installed;
}

}  // namespace

TEST_CASE("sqlite3") {
  ComparedProgram program(
      {"/usr/bin/sqlite3", ":memory:",
       "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n "
       "where i < 3000) insert into t select i, printf('%d times', i) from n; create index x on "
       "t(b); select count(*), sum(length(b)) from t join (select a as c from t) on c = a where "
       "b like '%7%' group by a % 10 order by 2;"});
  check_equal(program.run(), 10'000);
}

TEST_CASE("python3") {
  ComparedProgram program({"/usr/bin/python3", "-c", R"(
import json, re, threading, decimal, collections
def deep(n): return [n, deep(n - 1)] if n else []
def work():
    for i in range(20):
        json.dumps(deep(i)); re.compile('(a|b%d)+' % i); sorted(str(x) for x in range(40))
        try: raise ValueError(i)
        except ValueError: pass
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
print(decimal.Decimal(2).sqrt())
)"});
  program.set("PYTHONMALLOC", "malloc");
  check_equal(program.run(), 50'000);
}

TEST_CASE("perl") {
  ComparedProgram program({"/usr/bin/perl", "-e", R"(
my %words; my $text = join ' ', map { "word$_ " x ($_ % 3) } 1 .. 2000;
$words{$1}++ while $text =~ /(\w+)/g;
my @sorted = sort { $words{$a} <=> $words{$b} or $a cmp $b } keys %words;
sub deep { my $n = shift; $n ? [$n, deep($n - 1)] : [] } deep(50);
eval { die "caught" }; print scalar(@sorted), "\n";)"});
  check_equal(program.run(), 5'000);
}

TEST_CASE("jq") {
  ComparedProgram program({"/usr/bin/jq", "-n",
                           "[range(1500) | {key: tostring, value: (. * 2)}] | from_entries | "
                           "to_entries | map(select(.value % 7 == 0) | .key) | length"});
  check_equal(program.run(), 15'000);
}

TEST_CASE("xmllint") {
  ComparedProgram program(
      {"/usr/bin/xmllint", "--format", "--xpath", "//item[@id mod 7 = 0]/name", "list.xml"});
  std::string xml = "<?xml version=\"1.0\"?>\n<list>\n";
  for (int i = 0; i < 3000; ++i) {
    const std::string id = std::to_string(i);
    xml += "<item id=\"" + id + "\"><name>number " + id + "</name><value>&lt;</value></item>\n";
  }
  program.write("list.xml", xml + "</list>\n");
  check_equal(program.run(), 20'000);
}

TEST_CASE("the compiler proper, at -O2") {
  ComparedProgram program({ALLOCTAP_CC1PLUS, "-quiet", "-imultiarch", ALLOCTAP_MULTIARCH,
                           "-D_GNU_SOURCE", "-std=c++20", "-O2", "templates.cpp", "-o",
                           "/dev/null"});
  program.write("templates.cpp", kTemplates);
  program.set("ALLOCTAP_COMPARE_EVERY", "11");
  check_equal(program.run(), 10'000);
}

TEST_CASE("two threads of xz, whose code is partly in assembler") {
  ComparedProgram program({"/usr/bin/xz", "-T2", "--block-size=20000", "-k", "-0", "text"});
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += std::to_string(i * 7919 % 1009) + " ";
  program.write("text", text);
  check_equal(program.run(), 20);
}

TEST_CASE("a shell and its children") {
  ComparedProgram program({"/bin/sh", "-c", "for i in 1 2 3; do echo $i | sed s/2/4/; done"});
  CHECK(program.run().size() >= 4);
  CHECK(program.output == "1\n4\n3\n");
}

TEST_CASE("clang") {
  if (!is_installed("/usr/bin/clang-19")) return;
  ComparedProgram program({"/usr/bin/clang-19", "-fsyntax-only", "-std=c++20", "templates.cpp"});
  program.write("templates.cpp", kTemplates);
  program.set("ALLOCTAP_COMPARE_EVERY", "11");
  check_equal(program.run(), 5'000);
}

TEST_CASE("gdb") {
  if (!is_installed("/usr/bin/gdb")) return;
  ComparedProgram program({"/usr/bin/gdb", "--batch", "-nx", "-ex", "print 1 + 1"});
  check_equal(program.run(), 10'000);
}

TEST_CASE("node, whose code is partly made while it runs") {
  if (!is_installed("/usr/bin/node")) return;
  ComparedProgram program({"/usr/bin/node", "-e",
                           "let kept = []; for (let i = 0; i < 20000; ++i) "
                           "kept.push(JSON.parse('{\"a\":' + i + '}')); "
                           "console.log(Buffer.alloc(kept.length).toString('hex').length)"});
  check_passed(program.run(), 20'000);
}

TEST_CASE("java, whose code is partly made while it runs") {
  if (!is_installed("/usr/bin/java")) return;
  ComparedProgram program({"/usr/bin/java", "Recursive.java"});
  program.write("Recursive.java", R"(
public class Recursive {
  static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
  public static void main(String[] arguments) {
    for (int i = 0; i < 30; ++i) { fibonacci(20); java.nio.ByteBuffer.allocateDirect(1000); }
  }
}
)");
  check_passed(program.run(), 20'000);
}
