# What a project that includes alloctap must not have decided for it.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

include(cmake/compiler_cache.cmake)

# Of the time that g++ takes for these templates, 10 to 20 % is its garbage collector's, for half a
# gigabyte less.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-expand=400 --param ggc-min-heapsize=1048576>")
endif()

if(ALLOCTAP_SANITIZE)
  add_compile_options(-fsanitize=${ALLOCTAP_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ALLOCTAP_SANITIZE})
endif()
if(ALLOCTAP_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Objects that a program opens share its runtime, and locals lie on the stack, which tests look for.
  add_compile_options(
    -shared-libsan -fsanitize-address-use-after-return=never
    "-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignore_list.txt")
  execute_process(
    COMMAND "${CMAKE_CXX_COMPILER}"
            "-print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so"
    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  cmake_path(GET runtime PARENT_PATH runtime)
  add_link_options(-shared-libsan "-Wl,-rpath,${runtime}")
endif()

add_custom_target(
  uninstall COMMAND "${CMAKE_COMMAND}" "-DBUILD_DIR=${CMAKE_BINARY_DIR}"
                    -P "${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake")
