/// System calls of ntdll.dll that exist since Windows Vista, but not in the compiler's headers.
#pragma once

#include "alloctap/os/windows/api.hpp"

extern "C" {
/// Returns in `next` the thread after `thread` in `process`, or the first one if `thread` is null.
NTSTATUS NTAPI NtGetNextThread(HANDLE process, HANDLE thread, ACCESS_MASK access, ULONG attributes,
                               ULONG flags, HANDLE* next);
NTSTATUS NTAPI NtSuspendThread(HANDLE thread, ULONG* count_before);
NTSTATUS NTAPI NtResumeThread(HANDLE thread, ULONG* count_before);
NTSTATUS NTAPI NtGetContextThread(HANDLE thread, CONTEXT* context);
}
