/* Built twice, with frames of two sizes: all else lies at the same places. */
__asm__(
    ".text\n"
    ".globl plugin_call\n"
    ".type plugin_call, @function\n"
    ".p2align 4\n"
    "plugin_call:\n"
    ".cfi_startproc\n"
    /* sub $PLUGIN_FRAME, %rsp, with an operand of four bytes. */
    ".byte 0x48, 0x81, 0xec\n"
    ".long " PLUGIN_FRAME "\n"
    ".cfi_adjust_cfa_offset " PLUGIN_FRAME "\n"
    "call *%rdi\n"
    ".byte 0x48, 0x81, 0xc4\n"
    ".long " PLUGIN_FRAME "\n"
    ".cfi_adjust_cfa_offset -" PLUGIN_FRAME "\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size plugin_call, . - plugin_call\n"
    ".section .note.GNU-stack,\"\",@progbits\n");
