#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using launcher_test::check_refused;
using launcher_test::Launcher;
using launcher_test::Result;
using Arguments = std::vector<std::string>;

/// The launcher's settings, as the program sees them.
std::string settings_of(const Launcher& launcher, Arguments options) {
  options.insert(options.end(), {"/usr/bin/printenv", "ALLOCTAP_RUN"});
  const Result result = launcher.run(options);
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const std::string head = "alloctap-run/7;" + std::to_string(result.pid) + ";";
  REQUIRE(result.out.starts_with(head));
  return result.out.substr(head.size());
}

TEST_CASE("the hook, its modules and mappings reach the program") {
  const Launcher launcher;
  const std::string head = "0;unwind-table;256;0;0;18446744073709551615;0;0;0;0;0;0;;0;0;none;0;";
  CHECK(settings_of(launcher, {"--hook=interpose", "--mmap=off"}) == head + "interpose;0;0;\n");
  CHECK(settings_of(launcher, {"--mmap=off", "--mmap=on"}) == head + "interpose;1;0;\n");
  CHECK(settings_of(launcher, {"--modules=a;b", "--not-modules", "^/lib", "--hook=plt"}) ==
        head + "plt;1;2;0;3;a;b;1;5;^/lib;\n");
}

TEST_CASE("bad options are refused with the value and the remedy") {
  const Launcher launcher;
  const struct {
    Arguments options;
    std::string value, remedy;
  } cases[] = {
      {{"--bogus"}, "'--bogus'", "--help"},
      {{"--bogus=1"}, "'--bogus=1'", "--help"},
      {{"-x"}, "'-x'", "--help"},
      {{"-"}, "'-'", "--help"},
      {{"-1"}, "'-1'", "--help"},
      {{"--=1"}, "'--=1'", "--help"},
      {{"--a\nb\x1b[1m"}, "'--a\\nb\\x1b[1m'", "--help"},
      {{"--stacks=none"}, "'--stacks=none'", "; did you mean --stack? See alloctap-run --help"},
      {{"--follow-children=perhaps"}, "'--follow-children=perhaps'", "takes no value"},
      {{"--tags=on"}, "'--tags=on'", "takes no value"},
      {{"--follow-children=false"}, "'--follow-children=false'", "takes no value"},
      {{"--help=x"}, "'--help=x'", "takes no value"},
      {{"--dump=x"}, "'x'", "FORMAT=PATH, where FORMAT is one of text, json, "},
      {{"--dump", "x"}, "'x'", "FORMAT=PATH, where FORMAT is one of text, json, "},
      {{"--dump=pdf=x"}, "'pdf'", "FORMAT=PATH, where FORMAT is one of text, json, "},
      {{"--dump=TEXT=x"}, "'TEXT'", "unknown format 'TEXT'; did you mean text?"},
      {{"--dump=jsno=x"}, "'jsno=x'", "unknown format 'jsno'; did you mean json?"},
      {{"--dump=heap.jsno"}, "'heap.jsno'", "this ending; did you mean .json?"},
      {{"-o", "heap.htlm"}, "--output 'heap.htlm'", "'.htlm'; did you mean .html?"},
      {{"-o", "heap.pb.zg"}, "--output 'heap.pb.zg'", "'.zg'; write one such as"},
      {{"--lekas=live"}, "'--lekas=live'", "; did you mean --leaks? See alloctap-run --help"},
      {{"--bogus"}, "'--bogus'", "unknown option '--bogus'; see alloctap-run --help"},
      {{"--dump==x"}, "''", "FORMAT=PATH, where FORMAT is one of text, json, "},
      {{"--dump", ""}, "''", "FORMAT=PATH, where FORMAT is one of text, json, "},
      {{"--dump", "{}"}, "'{}'", "FORMAT=PATH, where FORMAT is one of text, json, "},
      {{"--dump", "[text=a,text=b]"},
       "'[text=a,text=b]'",
       "unknown format '[text'; did you mean text?"},
      {{"--dump="}, "'--dump='", "write one"},
      {{"--dump=heap.pdf"}, "'heap.pdf'", "an ending such as .txt, .html, .json"},
      {{"-o", "heap.pdf"}, "--output 'heap.pdf'", "'.pdf'; write one such as .txt, .html, .json"},
      {{"-o", "out.1234"}, "--output 'out.1234'", ".pb.gz or .record, or FORMAT=PATH"},
      {{"-o", ""}, "--output ''", "the path is empty"},
      {{"--output="}, "'--output='", "write one"},
      {{"-o", "missing/heap.html"}, "--output 'missing/heap.html'", "create it"},
      {{"-o", "a.html", "--dump", "html=a.html"}, "--output 'a.html'", "--dump 'html=a.html'"},
      {{"-o", "-", "--dump=text=-"}, "--output '-'", "--dump 'text=-'"},
      {{"-o", "-", "--follow-children"}, "--output '-'", "name a file, with %p in its name"},
      {{"-p", "123"}, "'-p'", "alloctap-run PROGRAM"},
      {{"-p123"}, "'-p123'", "cannot attach to a process that runs already"},
      {{"--pid", "123"}, "'--pid'", "alloctap-run PROGRAM"},
      {{"--pid=123"}, "'--pid=123'", "alloctap-run PROGRAM"},
      {{"--stack=none", "--attach", "123"}, "'--attach'", "build a tracker into it"},
      {{"--stack="}, "'--stack='", "write one"},
      {{"--stack=x"}, "'x'", "unwind-table, backtrace, frame-pointer, none"},
      {{"--stack=none", "--stack=x"}, "'x'", "unwind-table, backtrace, frame-pointer, none"},
      {{"--stack", "frame"}, "'frame'", "unwind-table, backtrace, frame-pointer, none"},
      {{"--hook=x"}, "'x'", "interpose, plt, inline, malloc-hooks"},
      {{"--mmap=yes"}, "'yes'", "write on or off"},
      {{"--modules=x"}, "'x'", "with --hook=plt"},
      {{"--hook=inline", "--not-modules=x"}, "'x'", "with --hook=plt alone"},
      {{"--hook=plt", "--modules=a(b"}, "'a(b'", "at character 2"},
      {{"--hook=plt", "--not-modules=["}, "'['", "at character 1"},
      {{"--max-frames=0"}, "'0'", "1 to 4000"},
      {{"--max-frames=4001"}, "'4001'", "1 to 4000"},
      {{"--max-frames=-1"}, "'-1'", "1 to 4000"},
      {{"--max-frames", "-1"}, "'-1'", "1 to 4000"},
      {{"--max-frames=+1"}, "'+1'", "1 to 4000"},
      {{"--max-frames=many"}, "'many'", "1 to 4000"},
      {{"--max-frames=1.5"}, "'1.5'", "1 to 4000"},
      {{"--max-frames=0x10"}, "'0x10'", "1 to 4000"},
      {{"--max-frames= 1"}, "' 1'", "1 to 4000"},
      {{"--max-frames=4294967297"}, "'4294967297'", "1 to 4000"},
      {{"--max-frames=99999999999999999999"}, "'99999999999999999999'", "1 to 4000"},
      {{"--sample="}, "'--sample='", "write one"},
      {{"--sample=0"}, "--sample '0'", "1 to 1099511627776, such as"},
      {{"--sample", "0K"}, "--sample '0K'", "1 to 1099511627776, such as"},
      {{"--sample=-1"}, "--sample '-1'", "1 to 1099511627776, such as"},
      {{"--sample=+1"}, "--sample '+1'", "1 to 1099511627776, such as"},
      {{"--sample=1.5"}, "--sample '1.5'", "1 to 1099511627776, such as"},
      {{"--sample=0x10"}, "--sample '0x10'", "1 to 1099511627776, such as"},
      {{"--sample=1 K"}, "--sample '1 K'", "1 to 1099511627776, such as"},
      {{"--sample=K"}, "--sample 'K'", "1 to 1099511627776, such as"},
      {{"--sample=512k"}, "--sample '512k'", "1 to 1099511627776, such as 4096, 512K or 2M"},
      {{"--sample=512KB"}, "--sample '512KB'", "1 to 1099511627776, such as"},
      {{"--sample=1T"}, "--sample '1T'", "1 to 1099511627776, such as"},
      {{"--sample=many"}, "--sample 'many'", "1 to 1099511627776, such as"},
      {{"--sample=1025G"}, "--sample '1025G'", "1 to 1099511627776, such as"},
      {{"--sample=1099511627777"}, "--sample '1099511627777'", "1 to 1099511627776"},
      {{"--sample=18446744073709551616"}, "'18446744073709551616'", "1 to 1099511627776"},
      {{"--sample=18014398509481984K"}, "'18014398509481984K'", "1 to 1099511627776"},
      {{"--sample=1", "--sample=0"}, "--sample '0'", "1 to 1099511627776"},
      {{"--sample=0", "--sample=1"}, "--sample '0'", "1 to 1099511627776"},
      {{"--min-size=0"}, "--min-size '0'", "1 to 18446744073709551615, such as"},
      {{"--min-size=-1"}, "--min-size '-1'", "1 to 18446744073709551615, such as"},
      {{"--min-size=18446744073709551616"}, "'18446744073709551616'", "1 to 18446744073709551615"},
      {{"--max-size=0"}, "--max-size '0'", "1 to 18446744073709551615, such as"},
      {{"--max-size=-5M"}, "--max-size '-5M'", "1 to 18446744073709551615, such as"},
      {{"--max-size=17179869184G"}, "'17179869184G'", "1 to 18446744073709551615"},
      {{"--interval=0"}, "--interval '0'", "0.01 to 31536000, such as"},
      {{"--interval=0.009"}, "--interval '0.009'", "0.01 to 31536000, such as"},
      {{"--interval=-1"}, "--interval '-1'", "0.01 to 31536000, such as"},
      {{"--interval=31536001"}, "--interval '31536001'", "0.01 to 31536000, such as"},
      {{"--interval=1s"}, "--interval '1s'", "0.01 to 31536000, such as"},
      {{"--interval=1e3"}, "--interval '1e3'", "0.01 to 31536000, such as"},
      {{"--interval=nan"}, "--interval 'nan'", "0.01 to 31536000, such as"},
      {{"--interval=inf"}, "--interval 'inf'", "0.01 to 31536000, such as"},
      {{"--interval= 1"}, "--interval ' 1'", "0.01 to 31536000, such as"},
      {{"--interval="}, "'--interval='", "write one"},
      {{"--events=0"}, "--events '0'", "1 to 18446744073709551615, such as"},
      {{"--events=1G", "--sample=512K"}, "--events and --sample", "leave one out"},
      {{"--tags", "--events=1G"}, "--tags and --events", "leave one out"},
      {{"--tags", "--sample=512K"}, "--tags and --sample", "leave one out"},
      {{"--tags", "--min-size=2"}, "--tags and --min-size or --max-size", "leave one out"},
      {{"--tags", "--checks=fill"}, "--tags and checks", "leave one out"},
      {{"--checks=guard=0,gurad"}, "guard: \"0\" is no", "gurad: is unknown; did you mean guard?"},
      {{"--checks=asan"}, "'asan'", "asan: is unknown; write some of front_guard, rear_guard, "},
      {{"--checks=backtrace_full"}, "backtrace_full: is not to be had", "of Android alone"},
      {{"--checks=level10", "--checks=level11"},
       "'level10 level11'",
       "level11: is unknown; did you mean"},
      {{"--checks="}, "'--checks='", "write one"},
      {{"--checks=level10", "--hook=plt"}, "--checks 'level10'", "with --hook=interpose alone"},
      {{"--string-checks", "--hook=plt"}, "--string-checks: ", "with --hook=interpose alone"},
      {{"--checks=level10", "--events=1G"}, "excludes --events", "leave one out"},
      {{"--error-exitcode=1"}, "--error-exitcode '1'", "write --leaks=CHOICE, --checks=LIST or"},
      {{"--guard-pages=some"}, "--guard-pages 'some'", "write all, or 1/N with N from 1 to"},
      {{"--guard-pages=1/0"}, "--guard-pages '1/0'", "write all, or 1/N"},
      {{"--guard-pages=2/3"}, "--guard-pages '2/3'", "write all, or 1/N"},
      {{"--guard-pages=1/1000000001"}, "'1/1000000001'", "to 1000000000"},
      {{"--guard-pages=1/x"}, "--guard-pages '1/x'", "write all, or 1/N"},
      {{"--guard-pages=1/2x"}, "--guard-pages '1/2x'", "write all, or 1/N"},
      {{"--guard-pages=all,"}, "--guard-pages 'all,'", "one of left, right, random"},
      {{"--guard-pages=all,top"}, "--guard-pages 'all,top'", "one of left, right, random"},
      {{"--guard-pages="}, "'--guard-pages='", "write one"},
      {{"--guard-pages=all", "--hook=plt"}, "--guard-pages 'all'", "with --hook=interpose alone"},
      {{"--guard-pages=all", "--events=1G"}, "excludes --events", "leave one out"},
      {{"--checks=fill", "--error-exitcode=0"}, "--error-exitcode '0'", "from 1 to 255"},
      {{"--checks=fill", "--error-exitcode=256"}, "--error-exitcode '256'", "from 1 to 255"},
      {{"--checks=fill", "--error-exitcode=x"}, "--error-exitcode 'x'", "from 1 to 255"},
      {{"--leaks=all"}, "--leaks 'all'", "write live or unreachable"},
      {{"--leaks=none"}, "--leaks 'none'", "write live or unreachable"},
      {{"--leaks="}, "'--leaks='", "write one"},
      {{"--leaks=unreachable", "--sample=512K"}, "--leaks=unreachable", "--sample leaves some out"},
      {{"--threshold=0"}, "--threshold '0'", "1 to 18446744073709551615, such as"},
      {{"--threshold=-1"}, "--threshold '-1'", "1 to 18446744073709551615, such as"},
      {{"--signal=KILL"}, "--signal 'KILL'", "write one of HUP, INT, QUIT, USR1, USR2"},
      {{"--signal=SEGV"}, "--signal 'SEGV'", "write one of HUP"},
      {{"--signal=usr1"}, "--signal 'usr1'", "write one of HUP"},
      {{"--signal=10"}, "--signal '10'", "write one of HUP"},
      {{"--signal=SIG"}, "--signal 'SIG'", "write one of HUP"},
      {{"--min-size=2K", "--max-size=2047"}, "'2K'", "is above --max-size '2047'; write one"},
      {{"--max-size=1", "--min-size", "2"}, "'2'", "is above --max-size '1'; write one"},
  };
  for (const auto& [options, value, remedy] : cases) {
    Arguments arguments = options;
    arguments.insert(arguments.end(), {"/bin/echo", "started"});
    check_refused(launcher.run(arguments), 2, {value, remedy});
  }
}

TEST_CASE("the ending of a path tells the format of its report") {
  const Launcher launcher;
  const std::string tail = ";none;0;interpose;1;0;\n";
  const auto dump_of = [&](const Arguments& options) {
    const std::string text = settings_of(launcher, options);
    const std::size_t start = text.find(";1;", text.find(";;0;")) + 3;
    REQUIRE(text.ends_with(tail));
    return text.substr(start, text.size() - start - tail.size());
  };
  const struct {
    std::string path, format;
  } cases[] = {{"heap.html", "html"},     {"heap.HTM", "html"},
               {"heap.json", "json"},     {"heap.txt", "text"},
               {"heap.pb.gz", "pprof"},   {"heap.pprof", "pprof"},
               {"heap.folded", "folded"}, {"x.speedscope.json", "speedscope"},
               {"heap.%p.json", "json"},  {"heap.record", "record"},
               {"run.log", "text"},       {"chrome.trace.json", "chrome-trace"},
               {"heap.massif", "massif"}, {"dhat.json", "json"},
               {"x.dhat.json", "dhat"},   {"heap.heaptrack", "heaptrack"}};
  for (const auto& [path, format] : cases) {
    CAPTURE(path);
    const std::string file = launcher.work() / path;
    const std::string dump = format + ";replace;" + std::to_string(file.size()) + ";" + file;
    for (const Arguments& options :
         {Arguments{"-o", path}, Arguments{"-o" + path}, Arguments{"-o=" + path},
          Arguments{"--output=" + path}, Arguments{"--output", path}, Arguments{"--dump=" + path},
          Arguments{"-o", format + "=" + path}}) {
      CHECK(dump_of(options) == dump);
    }
  }
  const std::string standard_output = ";append;11;/dev/stdout";
  CHECK(dump_of({"-o", "-"}) == "text" + standard_output);
  CHECK(dump_of({"--output=-"}) == "text" + standard_output);
  CHECK(dump_of({"--dump", "-"}) == "text" + standard_output);
  CHECK(dump_of({"--dump=json=-"}) == "json" + standard_output);
  CHECK(dump_of({"-o", "/dev/null"}) == "text;append;9;/dev/null");
  CHECK(dump_of({"-o", "/dev/../dev/null"}) == "text;append;16;/dev/../dev/null");
}

TEST_CASE("no PROGRAM is refused") {
  const Launcher launcher;
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"--"}, Arguments{"--stack=none"}, Arguments{"--stack=none", "--"}}) {
    check_refused(launcher.run(arguments), 2, {"PROGRAM"});
  }
  check_refused(launcher.run({"--dump"}), 2, {"--dump"});
  check_refused(launcher.run({"--stack", "--"}), 2, {"--stack"});
}

TEST_CASE("too many dumps are refused") {
  const Launcher launcher;
  Arguments arguments;
  for (int i = 0; i < 17; ++i) arguments.push_back("--dump=text=" + std::to_string(i));
  arguments.push_back("/bin/true");
  check_refused(launcher.run(arguments), 2, {"17", "at most 16"});
  arguments.front() = "-o=x.html";
  check_refused(launcher.run(arguments), 2, {"17", "at most 16"});
  arguments.erase(arguments.begin());
  CHECK(launcher.run(arguments).code == 0);
}

TEST_CASE("the program gets its arguments untouched") {
  const Launcher launcher;
  const Arguments own = {"--dump",   "x",  "--help", "--",        "--stack=",
                         "-x",       "",   "a b",    "[a,b]",     "{}",
                         "\xff\n%p", "++", "%%",     "--version", "--dump=json=/nowhere/x"};
  std::string printed;
  for (const std::string& argument : own) printed += "<" + argument + ">";
  for (const Arguments& options :
       {Arguments{}, Arguments{"--"}, Arguments{"--stack=none"}, Arguments{"--stack", "none", "--"},
        Arguments{"--follow-children", "--"}}) {
    Arguments arguments = options;
    arguments.insert(arguments.end(), {"/usr/bin/printf", "<%s>"});
    arguments.insert(arguments.end(), own.begin(), own.end());
    const Result result = launcher.run(arguments);
    CHECK(result.code == 0);
    CHECK(result.out == printed);
    CHECK(result.err.empty());
  }
}

TEST_CASE("options reach the preloaded object") {
  const Launcher launcher;
  const std::string sampling = "0;0;18446744073709551615;0;0;0;0;0;0;;0;";
  const std::string rest = sampling + "0;none;0;interpose;1;0;\n";
  CHECK(settings_of(launcher, {}) == "0;unwind-table;256;" + rest);
  CHECK(settings_of(launcher, {"--stack=backtrace"}) == "0;backtrace;256;" + rest);
  CHECK(settings_of(launcher, {"--stack", "frame-pointer"}) == "0;frame-pointer;256;" + rest);
  CHECK(settings_of(launcher, {"--stack=backtrace", "--stack=none"}) == "0;none;256;" + rest);
  CHECK(settings_of(launcher, {"--max-frames=1"}) == "0;unwind-table;1;" + rest);
  CHECK(settings_of(launcher, {"--max-frames", "4000", "--"}) == "0;unwind-table;4000;" + rest);
  CHECK(settings_of(launcher, {"--follow-children"}) == "1;unwind-table;256;" + rest);
}

TEST_CASE("numbers of bytes reach the preloaded object, with or without a unit") {
  const Launcher launcher;
  const auto sampling_of = [&launcher](const Arguments& options) {
    const std::string text = settings_of(launcher, options);
    const std::string head = "0;unwind-table;256;";
    REQUIRE(text.starts_with(head));
    return text.substr(head.size());
  };
  const std::string all = ";0;18446744073709551615;0;0;0;0;0;0;;0;0;none;0;interpose;1;0;\n";
  CHECK(sampling_of({"--sample=1"}) == "1" + all);
  CHECK(sampling_of({"--sample", "512K"}) == "524288" + all);
  CHECK(sampling_of({"--sample=2M"}) == "2097152" + all);
  CHECK(sampling_of({"--sample=1024G"}) == "1099511627776" + all);
  CHECK(sampling_of({"--sample=2M", "--sample=3"}) == "3" + all);
  CHECK(sampling_of({"--min-size=16"}) ==
        "0;16;18446744073709551615;0;0;0;0;0;0;;0;0;none;0;interpose;1;0;\n");
  CHECK(sampling_of({"--max-size=1K"}) == "0;0;1024;0;0;0;0;0;0;;0;0;none;0;interpose;1;0;\n");
  CHECK(sampling_of({"--min-size=1K", "--max-size=1024"}) ==
        "0;1024;1024;0;0;0;0;0;0;;0;0;none;0;interpose;1;0;\n");
  CHECK(sampling_of({"--max-size=18446744073709551615", "--sample=7"}) == "7" + all);
  CHECK(sampling_of({"--events=64M"}) ==
        "0;0;18446744073709551615;67108864;0;0;0;0;0;;0;0;none;0;interpose;1;0;\n");
  CHECK(sampling_of({"--events=1", "--sample=1"}) ==
        "1;0;18446744073709551615;1;0;0;0;0;0;;0;0;none;0;interpose;1;0;\n");
}

TEST_CASE("what makes a dump while the program runs reaches the preloaded object") {
  const Launcher launcher;
  const auto triggers_of = [&launcher](const Arguments& options) {
    const std::string text = settings_of(launcher, options);
    const std::string head = "0;unwind-table;256;0;0;18446744073709551615;0;0;";
    REQUIRE(text.starts_with(head));
    const std::string tail = ";0;;0;0;none;0;interpose;1;0;\n";
    REQUIRE(text.ends_with(tail));
    return text.substr(head.size(), text.size() - head.size() - tail.size());
  };
  CHECK(triggers_of({}) == "0;0;0");
  CHECK(triggers_of({"--interval=0.01"}) == "10000000;0;0");
  CHECK(triggers_of({"--interval", "2.5"}) == "2500000000;0;0");
  CHECK(triggers_of({"--interval=31536000"}) == "31536000000000000;0;0");
  CHECK(triggers_of({"--threshold=2M"}) == "0;2097152;0");
  CHECK(triggers_of({"--signal=USR1"}) == "0;0;10");
  CHECK(triggers_of({"--signal", "SIGUSR2"}) == "0;0;12");
  CHECK(triggers_of({"--interval=1", "--interval=2", "--threshold=1", "--signal=HUP"}) ==
        "2000000000;1;1");
}

TEST_CASE("checks reach the preloaded object as they were written") {
  const Launcher launcher;
  const auto checks_of = [&launcher](const Arguments& options) {
    const std::string text = settings_of(launcher, options);
    const std::string head = "0;unwind-table;256;0;0;18446744073709551615;0;0;0;0;0;";
    REQUIRE(text.starts_with(head));
    const std::string tail = ";0;none;0;interpose;1;0;\n";
    REQUIRE(text.ends_with(tail));
    return text.substr(head.size(), text.size() - head.size() - tail.size());
  };
  CHECK(checks_of({"--checks=level10"}) == "7;level10;0");
  CHECK(checks_of({"--string-checks"}) == "13;string_checks;0");
  CHECK(checks_of({"--string-checks", "--checks=level10"}) == "21;level10 string_checks;0");
  CHECK(checks_of({"--checks", "guard=64,fill", "--checks=verify_kinds", "--error-exitcode=77"}) ==
        "26;guard=64,fill verify_kinds;77");
  CHECK(checks_of({"--guard-pages=all"}) == "13;guard_pages=1;0");
  CHECK(checks_of({"--checks=fill", "--guard-pages=1/100,left", "--error-exitcode=77"}) ==
        "37;fill guard_pages=100 guard_pages_left;77");
  CHECK(checks_of({"--guard-pages=1/7,right"}) == "13;guard_pages=7;0");
}

}  // namespace
