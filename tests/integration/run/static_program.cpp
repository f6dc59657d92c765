#if defined(HAS_GO_NOTE)
__asm__(
    ".pushsection .note.go.buildid, \"a\", @note\n"
    ".balign 4\n"
    ".long 4, 4, 4\n"
    ".ascii \"Go\\0\\0\"\n"
    ".long 0\n"
    ".popsection");
#endif

int main() { return 0; }
