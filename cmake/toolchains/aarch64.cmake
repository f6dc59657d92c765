# AArch64 on Debian: g++-aarch64-linux-gnu, libraries of Debian's arm64, programs run by qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(ALLOCTAP_EXECUTE_PROGRAMS sh "${CMAKE_CURRENT_LIST_DIR}/../with_aarch64_programs.sh")
set(ALLOCTAP_BINUTILS_PREFIX aarch64-linux-gnu-)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
