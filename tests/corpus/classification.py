"""What tools say of a program, in the words of the corpus (`misuse_corpus --list`).

Each function takes all that a run wrote and returns a set of kinds. Beside those of the corpus there
are HEAP_CORRUPTION, OTHER_ACCESS, REFUSED_REQUEST and CRASH, which are never what a case is.
"""

import re

DOUBLE_FREE = "double free"
UNKNOWN_POINTER = "free of an unknown pointer"
MISMATCHED_RELEASE = "mismatched release"
WRONG_SIZE = "wrong size given to delete"
WRONG_ALIGNMENT = "wrong alignment given to delete"
OVERLAPPING_COPY = "overlapping copy"
LEAK = "leak"
HEAP_CORRUPTION = "damage to the heap"
OTHER_ACCESS = "access to an unknown address"
REFUSED_REQUEST = "refused request"
CRASH = "crash"


def access(is_write, where):
    """`where`: after, before or free."""
    what = "write" if is_write else "read"
    return f"{what} after free" if where == "free" else f"{what} {where} the block"


def kinds_by(rules, text):
    return {kind for pattern, kind in rules if re.search(pattern, text)}


GLIBC_RULES = [
    (r"double free (detected|or corruption \((fasttop|!prev)\))", DOUBLE_FREE),
    (r"double free or corruption", HEAP_CORRUPTION),
    (r"(free|realloc|munmap_chunk)\(\): invalid pointer", UNKNOWN_POINTER),
    (r"(free|realloc|malloc)\(\): .*(size|chunk|top|unaligned)", HEAP_CORRUPTION),
    (r"corrupted ", HEAP_CORRUPTION),
]


def of_glibc(text):
    """The C library's own checks: the line with which it aborts."""
    return kinds_by(GLIBC_RULES, text)


ALLOCTAP_RULES = [
    (r"alloctap-run: double free;", DOUBLE_FREE),
    (r"alloctap-run: (free|use) of an unknown address;", UNKNOWN_POINTER),
    (r"alloctap-run: (free|use) of an address inside a block;", UNKNOWN_POINTER),
    (r"alloctap-run: mismatched release;", MISMATCHED_RELEASE),
    (r"alloctap-run: release to another heap;", MISMATCHED_RELEASE),
    (r"alloctap-run: release with a wrong size;", WRONG_SIZE),
    (r"alloctap-run: release with a wrong alignment;", WRONG_ALIGNMENT),
    (r"alloctap-run: write before a block;", access(True, "before")),
    (r"alloctap-run: write behind a block;", access(True, "after")),
    (r"alloctap-run: write after free;", access(True, "free")),
    (r"alloctap-run: read before a block;", access(False, "before")),
    (r"alloctap-run: read behind a block;", access(False, "after")),
    (r"alloctap-run: read after free;", access(False, "free")),
    (r"alloctap-run: copy of ranges that overlap;", OVERLAPPING_COPY),
    (r"(?m)^Stacks with blocks that are definitely lost", LEAK),
]


def of_alloctap(text):
    """The lines with which alloctap-run tells of a fault as it is found; and what glibc still says."""
    return kinds_by(ALLOCTAP_RULES, text) | of_glibc(text)


ASAN_RULES = [
    (r"AddressSanitizer: attempting double-free", DOUBLE_FREE),
    (r"AddressSanitizer: attempting free on address which was not malloc", UNKNOWN_POINTER),
    (r"AddressSanitizer: attempting to call malloc_usable_size", UNKNOWN_POINTER),
    (r"AddressSanitizer: alloc-dealloc-mismatch", MISMATCHED_RELEASE),
    (r"size of the deallocated type", WRONG_SIZE),
    (r"alignment of the deallocated type", WRONG_ALIGNMENT),
    (r"AddressSanitizer: \w+-param-overlap", OVERLAPPING_COPY),
    (r"(Direct|Indirect) leak of", LEAK),
    (r"AddressSanitizer: requested allocation size", REFUSED_REQUEST),
    (r"AddressSanitizer: \w+ parameters overflow", REFUSED_REQUEST),
    (r"AddressSanitizer: invalid alignment requested", REFUSED_REQUEST),
    (r"AddressSanitizer: (SEGV|BUS|ABRT|ILL|FPE)", CRASH),
    (r"AddressSanitizer: ((global|stack|dynamic-stack)-\w+|unknown-crash|wild-\w+)", OTHER_ACCESS),
]
ASAN_ACCESS = re.compile(r"AddressSanitizer: heap-(buffer-overflow|use-after-free) ")
# Versions of it say "to the right of" or "after".
ASAN_SIDES = [
    (re.compile(r"is located \d+ bytes (to the right of|after) "), "after"),
    (re.compile(r"is located \d+ bytes (to the left of|before) "), "before"),
]


def asan_access(text):
    error = ASAN_ACCESS.search(text)
    if not error:
        return set()
    is_write = re.search(r"^WRITE of size", text, re.MULTILINE) is not None
    if error.group(1) == "use-after-free":
        return {access(is_write, "free")}
    return {access(is_write, side) for pattern, side in ASAN_SIDES if pattern.search(text)} or {
        OTHER_ACCESS
    }


def of_asan(text):
    """AddressSanitizer with LeakSanitizer, of GCC and of clang."""
    return kinds_by(ASAN_RULES, text) | asan_access(text)


MEMCHECK_RULES = [
    (r"^Mismatched (free|new)", MISMATCHED_RELEASE),
    (r"^Mismatched .* size", WRONG_SIZE),
    (r"^Mismatched .* align", WRONG_ALIGNMENT),
    (r"^Source and destination overlap", OVERLAPPING_COPY),
    (r"are (definitely|indirectly|possibly) lost", LEAK),
    (r"has a fishy \(possibly negative\) value", REFUSED_REQUEST),
    (r"^Process terminating with default action of signal", CRASH),
]
MEMCHECK_WRITE = re.compile(r"Invalid write of size|Syscall param read\(buf\) points to unaddress")
MEMCHECK_READ = re.compile(r"Invalid read of size|Syscall param .* points to unaddressable")
# Further from a block than its own margins, it is one "in arena". An access that begins inside of a
# block and is wrong all the same goes on behind it.
MEMCHECK_PLACES = [
    (re.compile(r"bytes inside a block of size [\d,]+ free'd"), "free"),
    (re.compile(r"bytes (inside|after) a block of size [\d,]+ (alloc'd|in arena)"), "after"),
    (re.compile(r"bytes before a block of size [\d,]+ (alloc'd|in arena)"), "before"),
]


def memcheck_error(text):
    """Of one error: its first line, a stack, where the address lies, another stack."""
    place = next((name for pattern, name in MEMCHECK_PLACES if pattern.search(text)), None)
    if text.startswith("Invalid free()"):
        return {DOUBLE_FREE if place == "free" else UNKNOWN_POINTER}
    is_write = MEMCHECK_WRITE.match(text) is not None
    if is_write or MEMCHECK_READ.match(text):
        return {access(is_write, place) if place else OTHER_ACCESS}
    return kinds_by(MEMCHECK_RULES, text)


def of_memcheck(text):
    """memcheck with --leak-check=full."""
    lines = [re.sub(r"^==\d+== ?", "", line) for line in text.splitlines() if line[:2] == "=="]
    # The first error of a thread comes below the thread's number.
    errors = re.sub(r"^Thread \d+.*:\n", "", "\n".join(lines), flags=re.MULTILINE).split("\n\n")
    return set().union(*(memcheck_error(error.strip()) for error in errors))
