"""How a program is run untracked, under alloctap-run and under heaptrack, and what a run costs.

What counts as a tracker's cost is what it does inside the program until that is over, its snapshot
at the end included; not what it takes to make a report of that, which heaptrack does in another
process. So heaptrack's object is preloaded without its interpreter and writes raw data to a file,
and alloctap-run writes its report to a pipe that nobody reads: opening that fails at once, before
anything is symbolized.
"""

import dataclasses
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "PERL_HASH_SEED": "0",
    "PYTHONHASHSEED": "0",
    "PYTHONMALLOC": "malloc",
}
HEAPTRACK_OBJECT = "lib/heaptrack/libheaptrack_preload.so"
UNTRACKED = "untracked"
HEAPTRACK = "heaptrack"
MEMCHECK = "memcheck"
# Of a Cost, the numbers.
PARTS = ["cpu", "wall", "resident"]
STACKS = ["unwind-table", "frame-pointer", "backtrace", "none"]


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to run a program: what goes in front of its command and into its environment.

    `proof` is what standard error holds if the program was tracked, `raw` the file that is.
    """

    name: str
    front: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    proof: str = ""
    raw: pathlib.Path = None


@dataclasses.dataclass(frozen=True)
class Cost:
    """CPU is user and system time, in seconds; resident is the peak, in KiB."""

    cpu: float
    wall: float
    resident: int
    output: str


def find_tool(name):
    return shutil.which(name, path=ENVIRONMENT["PATH"])


def executable(build_directory, name):
    path = pathlib.Path(build_directory).resolve() / "bin" / name
    if not shutil.which(str(path)):
        raise SystemExit(f"no {path}; build it there first")
    return path


def accepted_stacks(build_directory):
    """The choices of --stack that the build knows, the exact and fast one first."""
    tool = executable(build_directory, "alloctap-run")
    return [
        stack
        for stack in STACKS
        if subprocess.run([tool, f"--stack={stack}", "true"], capture_output=True).returncode == 0
    ]


def alloctap_way(build_directory, options, name, folder):
    unread = folder / "unread"
    if not unread.exists():
        os.mkfifo(unread)
    tool = executable(build_directory, "alloctap-run")
    front = [str(tool), *options, f"--dump=text={unread}", "--"]
    return Way(name, front, proof=f"cannot open the dump {unread}")


def heaptrack_way(folder):
    """None where heaptrack is not installed."""
    script = find_tool(HEAPTRACK)
    if not script:
        return None
    preload = pathlib.Path(script).resolve().parent.parent / HEAPTRACK_OBJECT
    raw = folder / "heaptrack.raw"
    environment = {"LD_PRELOAD": str(preload), "DUMP_HEAPTRACK_OUTPUT": str(raw)}
    return Way(HEAPTRACK, environment=environment, raw=raw)


def memcheck_way():
    """None where valgrind is not installed."""
    tool = find_tool("valgrind")
    return Way(MEMCHECK, [tool, "--leak-check=full"], proof="ERROR SUMMARY") if tool else None


def mark_of(directory, build_directories):
    """What tells its ways from those of the other builds."""
    if len(build_directories) == 1:
        return ""
    names = [pathlib.Path(each).name for each in build_directories]
    name = pathlib.Path(directory).name
    return f"{name if names.count(name) == 1 else directory}:"


def ways_to_track(build_directories, stacks, folder, hooks=()):
    """Untracked first, heaptrack last; the ones of alloctap-run are between. `stacks` and `hooks`
    may be empty: what alloctap-run does by itself."""
    ways = [Way(UNTRACKED)]
    for directory in build_directories:
        mark = mark_of(directory, build_directories)
        for stack, hook in itertools.product(stacks or [""], hooks or [""]):
            options = [f"--stack={stack}"] if stack else []
            options += [f"--hook={hook}"] if hook else []
            name = "/".join(filter(None, [stack, hook])) or "alloctap"
            ways.append(alloctap_way(directory, options, mark + name, folder))
    heaptrack = heaptrack_way(folder)
    return ways + [heaptrack] if heaptrack else ways


class Runner:
    """Runs commands and measures them. `folder` is for its own files."""

    def __init__(self, build_directory, folder):
        self._usage = folder / "usage.json"
        self._front = [str(executable(build_directory, "measure_run")), str(self._usage)]

    def run(self, command, way):
        """The Cost of `command`, run that way. Ends this program where that fails or was not
        tracked."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
            result = subprocess.run(
                # The measuring program itself is not to be tracked.
                self._front + ["env", *settings_of(way), *way.front, *command],
                env=ENVIRONMENT,
                stdout=output,
                stderr=complaints,
            )
            complaint = text_of(complaints)
            if result.returncode != 0 or way.proof not in complaint:
                raise SystemExit(f"{way.name}: {command} failed or was not tracked:\n{complaint}")
            check_raw(way, command)
            return Cost(**json.loads(self._usage.read_text()), output=text_of(output))


def settings_of(way):
    return [f"{name}={value}" for name, value in way.environment.items()]


def text_of(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def check_raw(way, command):
    """Removes what heaptrack wrote: hundreds of megabytes."""
    if way.raw is None:
        return
    if not way.raw.exists() or way.raw.stat().st_size == 0:
        raise SystemExit(f"{way.name}: {command} was not tracked: no {way.raw}")
    way.raw.unlink()


def totals_of(command, build_directory, folder):
    """The `totals` that alloctap-run counts exactly, with the cheapest stacks."""
    stack = accepted_stacks(build_directory)[-1]
    dump = folder / "totals.json"
    tool = str(executable(build_directory, "alloctap-run"))
    front = [tool, f"--stack={stack}", f"--dump=json={dump}", "--"]
    subprocess.run(
        front + command,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    totals = json.loads(dump.read_text())["totals"]
    dump.unlink()
    return totals
