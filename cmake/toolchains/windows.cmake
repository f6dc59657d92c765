# Windows on x86-64, from Debian: g++-mingw-w64-x86-64-posix, programs run by Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_CROSSCOMPILING_EMULATOR sh "${CMAKE_CURRENT_LIST_DIR}/../run_by_wine.sh")
set(ALLOCTAP_EMULATOR wine)
set(ALLOCTAP_BINUTILS_PREFIX x86_64-w64-mingw32-)
# Libraries are those of the compiler and those that cmake/windows_libraries.sh makes: what is
# installed on this machine is for another system.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(alloctap_cache "$ENV{XDG_CACHE_HOME}/alloctap")
else()
  set(alloctap_cache "$ENV{HOME}/.cache/alloctap")
endif()
set(CMAKE_FIND_ROOT_PATH
    "${alloctap_cache}/windows/abseil" "${alloctap_cache}/windows/zydis"
    "${alloctap_cache}/windows/headers" "${alloctap_cache}/windows/lua" /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
