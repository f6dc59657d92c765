#!/usr/bin/env python3
"""usage: packed_page_test.py ALLOCTAP_RUN HTML_PAGE_HPP

alloctap-run keeps the page of html_page.hpp compressed: what stands around the report in one that it
writes is that page to the byte.
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    launcher, header = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
    parts = re.split(r"inline constexpr std::string_view \w+\[\] = \{", header)[1:]
    start, middle, end = ("".join(re.findall(r'R"html\((.*?)\)html"', part, re.DOTALL)) for part in parts)
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "report.html"
        subprocess.run([launcher, "-o", path, "true"], check=True)
        page = path.read_text()
    assert len(start) > 1000 and len(end) > 1000, "html_page.hpp is not as it was"
    assert page.startswith(start), "the page begins otherwise"
    assert page.endswith(middle + end), "the page ends otherwise"


if __name__ == "__main__":
    main()
