"""usage: chrome_trace_check.py FILE

Reads a trace as the importers of Perfetto, Chrome and Tracy do, refuses what one of them would not
take, and prints the last value of every counter as JSON.
"""
import collections
import json
import sys

TIMED = set("CiXBE")
KNOWN = TIMED | {"M"}


def check_event(event):
    assert event["ph"] in KNOWN, event
    assert isinstance(event["name"], str) and event["name"], event
    assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
    if event["ph"] in TIMED:
        assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0, event
    if event["ph"] == "C":
        assert event["args"] and all(isinstance(v, (int, float)) for v in event["args"].values())
    if event["ph"] == "M":
        assert event["name"] in ("process_name", "thread_name") and event["args"]["name"], event
    if event["ph"] == "i":
        assert event["s"] in "gpt", event


def check_nesting(events):
    open_ends = collections.defaultdict(list)
    for event in events:
        if event["ph"] not in "XBE":
            continue
        ends = open_ends[event["pid"], event["tid"]]
        while ends and ends[-1] is not None and ends[-1] <= event["ts"]:
            ends.pop()
        if event["ph"] == "E":
            assert ends and ends.pop() is None, event
        elif event["ph"] == "B":
            ends.append(None)
        else:
            end = event["ts"] + event["dur"]
            assert not ends or ends[-1] is None or end <= ends[-1], event
            ends.append(end)
    assert not any(None in ends for ends in open_ends.values())


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        check_event(event)
    times = [event["ts"] for event in events if event["ph"] in TIMED]
    assert times == sorted(times), "time goes back"
    check_nesting(events)
    last = {e["name"]: e["args"]["value"] for e in events if e["ph"] == "C"}
    names = {e["name"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    print(json.dumps({"last": last, "names": names, "times": len(times)}))


main()
