// Calls of ntdll that the compiler's headers do not declare. Windows has had them since Vista.
#pragma once

#include "alloctap/os/windows/api.hpp"

extern "C" {
/// The thread of `process` behind `thread`, or the first one if that is null.
NTSTATUS NTAPI NtGetNextThread(HANDLE process, HANDLE thread, ACCESS_MASK access, ULONG attributes,
                               ULONG flags, HANDLE* next);
NTSTATUS NTAPI NtSuspendThread(HANDLE thread, ULONG* count_before);
NTSTATUS NTAPI NtResumeThread(HANDLE thread, ULONG* count_before);
NTSTATUS NTAPI NtGetContextThread(HANDLE thread, CONTEXT* context);
}
