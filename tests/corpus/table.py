"""The tables of tests/corpus/results.md."""

import collections

from verdicts import Verdict

BEGIN = "<!-- misuse corpus: begin; written by tests/corpus/run_corpus.py -->\n"
END = "<!-- misuse corpus: end -->\n"


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def head(cells):
    return row(cells) + "|---" * len(cells) + "|\n"


def count_cell(outcomes):
    """Of the outcomes of bad cases: how many were found, and what came of the others."""
    counts = collections.Counter(outcome.verdict for outcome in outcomes)
    others = [
        f"{counts[verdict]} {words}"
        for verdict, words in ((Verdict.OTHERWISE, "as another kind"), (Verdict.ENDED, "died"))
        if counts[verdict]
    ]
    found = f"{counts[Verdict.FOUND]}"
    return f"{found} ({', '.join(others)})" if others else found


def flagged_cell(outcomes):
    return str(sum(outcome.verdict is Verdict.FLAGGED for outcome in outcomes))


def families_of(cases):
    """Family -> its cases, in the order of the corpus."""
    families = {}
    for case in cases:
        families.setdefault(case.family, []).append(case)
    return families


def family_table(cases, tools, results, is_good, first, cell):
    """`results`: tool's name -> case's name -> Outcome."""
    text = head([first, "cases"] + [tool.heading for tool in tools])
    groups = families_of(case for case in cases if case.is_good == is_good)
    groups["all"] = [case for group in groups.values() for case in group]
    for family, group in groups.items():
        counts = [cell([results[tool.name][case.name] for case in group]) for tool in tools]
        text += row([f"**{family}**" if family == "all" else family, str(len(group))] + counts)
    return text


def outcome_text(outcome):
    if outcome.verdict in (Verdict.FOUND, Verdict.QUIET):
        return "ok"
    if outcome.verdict is Verdict.MISSED:
        return "-"
    return ", ".join(sorted(outcome.kinds))


def merged(rows, place):
    """Rows that differ in one part of the name alone become one, with all of those parts."""
    groups = {}
    for parts, rest in rows:
        if place < len(parts):
            key = (parts[:place], parts[place + 1 :], rest)
        else:
            key = (parts, None, rest)
        groups.setdefault(key, []).extend(parts[place : place + 1])
    return [
        (before if after is None else (*before, sum(alternatives, ()), *after), rest)
        for (before, after, rest), alternatives in groups.items()
    ]


def name_of(parts):
    return "/".join(part[0] if len(part) == 1 else "{" + ", ".join(part) + "}" for part in parts)


def case_rows(cases, tools, results):
    """Cells of rows, of which each stands for all cases that came out the same."""
    rows = []
    for case in cases:
        parts = tuple((part,) for part in case.name.split("/")[1:])
        texts = tuple(outcome_text(results[tool.name][case.name]) for tool in tools)
        rows.append((parts, (case.kind, *texts)))
    for place in range(max(len(parts) for parts, _ in rows)):
        rows = merged(rows, place)
    for parts, rest in rows:
        yield [f"`{name_of(parts)}`", *rest]


def case_tables(cases, tools, results):
    text = ""
    for family, group in families_of(cases).items():
        text += f"<details><summary>{family}: {len(group)} cases</summary>\n\n"
        text += head(["case", "what it is"] + [tool.heading for tool in tools])
        for cells in case_rows(group, tools, results):
            text += row(cells)
        text += "\n</details>\n\n"
    return text


def tables(cases, tools, results, versions):
    """All that stands between BEGIN and END; the same for the same results."""
    good = sum(case.is_good for case in cases)
    text = f"{len(cases)} cases, {len(cases) - good} bad and {good} good. Run under: "
    text += "; ".join(f"{tool.heading}: {versions[tool.name]}" for tool in tools) + ".\n\n"
    text += family_table(cases, tools, results, False, "bad cases", count_cell) + "\n"
    text += family_table(cases, tools, results, True, "good cases, flagged", flagged_cell) + "\n"
    return text + case_tables(cases, tools, results)


def replaced_between_marks(document, text):
    """`document` with `text` between the marks; raises ValueError where it has none."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no {BEGIN.strip()} ... {END.strip()} in it")
    return before + begin + text + end + after
