"""usage: read_android_heap.py FILE
Reads an Android native heap dump by the rules of native_heapdump_viewer.py and of bionic's documents,
and prints as JSON what is in it. Exits with 1 and a message where the head and the records disagree.
"""

import json
import re
import sys

HEAD = re.compile(
    r"Android Native Heap Dump v1\.2\n\nBuild fingerprint: '.*'\n\n"
    r"Total memory: (\d+)\nAllocation records: (\d+)\nBacktrace size: (\d+)\n\n"
)
MAP_LINE = re.compile(
    r"([0-9a-f]+)-([0-9a-f]+) .... ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ [0-9]+ +(.*)"
)


def read_record(line):
    """A record counts only with a frame at least; size is of one block."""
    parts = line.split()
    if len(parts) < 8 or parts[0] != "z" or parts[2] != "sz" or parts[4] != "num":
        raise ValueError("no record: " + line)
    return {
        "app": parts[1] == "1",
        "size": int(parts[3]),
        "count": int(parts[5]),
        "frames": [int(part, 16) for part in parts[7:]],
    }


def read_map(lines):
    """The viewer looks addresses up by bisection."""
    regions = []
    for line in lines:
        start, end, offset, path = MAP_LINE.fullmatch(line).groups()
        regions.append({"start": int(start, 16), "end": int(end, 16), "path": path,
                        "offset": int(offset, 16)})
    for before, after in zip(regions, regions[1:]):
        if before["end"] > after["start"]:
            raise ValueError("regions out of order")
    return regions


def main(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head = HEAD.match(text)
    total, count, deepest = (int(number) for number in head.groups())
    body, maps = text[head.end():].split("MAPS\n")
    if not maps.endswith("END\n"):
        raise ValueError("there is no END")
    records = [read_record(line) for line in body.splitlines()]
    if count != len(records):
        raise ValueError("wrong number of records")
    if total != sum(record["size"] * record["count"] for record in records):
        raise ValueError("wrong total")
    if any(len(record["frames"]) > deepest for record in records):
        raise ValueError("a stack is too deep")
    regions = read_map(maps[:-len("END\n")].splitlines())
    json.dump({"total": total, "records": records, "map": regions}, sys.stdout)


main(*sys.argv[1:])
