/// How the targets are called, which are written in assembly once for all systems.
#pragma once

#if defined(_WIN32) && defined(__x86_64__)
#define TARGET_ABI __attribute__((sysv_abi))
#else
#define TARGET_ABI
#endif
