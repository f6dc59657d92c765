"""The programs that whole_program.py runs, each sized to take about half a second untracked."""

import dataclasses
import pathlib
import shutil
import subprocess

import tracking

WORKLOADS = pathlib.Path(__file__).resolve().parent / "workloads"
XPATH = "count(//item[tag='a3'])"
COMPILED = WORKLOADS / "template_heavy.cpp"
THREADED_OPERATIONS = {"larson": 8_000_000, "producer_consumer": 3_000_000}


@dataclasses.dataclass(frozen=True)
class Program:
    """`tells_rate`: it prints a JSON object with `operations` and `seconds`."""

    name: str
    command: list
    tells_rate: bool = False


def write_json(path):
    items = (
        f'{{"id": {i}, "name": "item {i}", "tags": ["a{i % 7}", "b{i % 11}"]}}'
        for i in range(40000)
    )
    path.write_text("[" + ",\n".join(items) + "]\n")


def write_xml(path):
    items = (
        f'<item id="{i}"><name>item {i}</name><tag>a{i % 7}</tag></item>' for i in range(200000)
    )
    path.write_text("<items>" + "\n".join(items) + "</items>\n")


def interpreters(folder):
    json_items = folder / "items.json"
    xml_items = folder / "items.xml"
    write_json(json_items)
    write_xml(xml_items)
    return [
        Program("sqlite3", ["sqlite3", ":memory:", f".read {WORKLOADS}/sqlite3.sql"]),
        Program("python3", ["python3", "-S", f"{WORKLOADS}/python3.py"]),
        Program("perl", ["perl", f"{WORKLOADS}/perl.pl"]),
        Program("jq", ["jq", "-c", "-f", f"{WORKLOADS}/jq.jq", str(json_items)]),
        Program("xmllint", ["xmllint", "--noout", "--xpath", XPATH, str(xml_items)]),
    ]


def output_of(command):
    result = subprocess.run(
        command, env=tracking.ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True
    )
    return result.stdout


def compilers(folder):
    """The programs that compile, not the drivers which start them."""
    programs = []
    if tracking.find_tool("g++"):
        source = folder / "preprocessed.ii"
        output_of(["g++", "-std=c++20", "-E", str(COMPILED), "-o", str(source)])
        cc1plus = output_of(["g++", "-print-prog-name=cc1plus"]).strip()
        options = ["-quiet", "-std=c++20", "-fpreprocessed", str(source), "-o", "/dev/null"]
        programs.append(Program("cc1plus", [cc1plus, *options]))
    # -fintegrated-cc1: in the process that was started.
    options = ["-std=c++20", "-fintegrated-cc1", "-fsyntax-only", str(COMPILED)]
    programs.append(Program("clang-19", ["clang++-19", *options]))
    return programs


def executable(build_directory, name):
    return str(tracking.executable(build_directory, name))


def threaded(build_directory, scale):
    return [
        Program(
            f"{name}-{threads}",
            [executable(build_directory, name), str(threads), str(round(operations * scale))],
            tells_rate=True,
        )
        for name, operations in THREADED_OPERATIONS.items()
        for threads in (1, 2)
    ]


def installed_programs(folder, build_directory, wanted, scale):
    """Those that are installed, of the ones whose names are in `wanted` (empty: all). `scale` is
    that of the operations of THREADED_OPERATIONS."""
    every = interpreters(folder) + compilers(folder) + threaded(build_directory, scale)
    unknown = set(wanted) - {program.name for program in every}
    if unknown:
        names = ", ".join(program.name for program in every)
        raise SystemExit(f"no workload {', '.join(unknown)}; they are {names}")
    chosen = [p for p in every if not wanted or p.name in wanted]
    return [p for p in chosen if shutil.which(p.command[0], path=tracking.ENVIRONMENT["PATH"])]
