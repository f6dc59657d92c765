#!/usr/bin/env python3
"""What tools wrote (samples/, cut down) is put into the words of the corpus.

A line "#### KINDS" begins a sample; the kinds that it tells of stand there with semicolons between.
"""

import pathlib
import unittest

import classification
import tools

SAMPLES = pathlib.Path(__file__).parent / "samples"
CLASSIFIERS = {
    "alloctap": classification.of_alloctap,
    "glibc": classification.of_glibc,
    "asan": classification.of_asan,
    "memcheck": classification.of_memcheck,
}


def samples_of(name):
    """Pairs of expected kinds and text."""
    for sample in (SAMPLES / f"{name}.txt").read_text().split("#### ")[1:]:
        kinds, _, text = sample.partition("\n")
        yield {kind for kind in kinds.strip().split("; ") if kind}, text


class ClassificationTest(unittest.TestCase):
    def test_samples_are_classified_as_they_say(self):
        for name, classify in CLASSIFIERS.items():
            for expected, text in samples_of(name):
                with self.subTest(tool=name, text=text):
                    self.assertEqual(classify(text), expected)

    def test_every_tool_has_samples(self):
        self.assertEqual({tool.classify for tool in tools.TOOLS}, set(CLASSIFIERS.values()))

    def test_errors_of_one_run_are_told_apart(self):
        samples = {tuple(kinds): text for kinds, text in samples_of("memcheck")}
        both = samples[("double free",)] + samples[("write before the block",)]
        self.assertEqual(
            classification.of_memcheck(both), {"double free", "write before the block"}
        )

    def test_what_the_program_writes_is_not_the_tool(self):
        self.assertEqual(classification.of_memcheck("Invalid write of size 1\ndone\n"), set())


if __name__ == "__main__":
    unittest.main()
