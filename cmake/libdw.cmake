# Used by the build and, once installed, by alloctap-config.cmake: elfutils has no CMake package.
set(alloctap_library_of_libdw "libdw (Debian: libdw-dev)")
function(alloctap_find_libdw)
  if(TARGET alloctap::libdw)
    return()
  endif()
  find_path(ALLOCTAP_LIBDW_INCLUDE_DIR elfutils/libdwfl.h)
  find_library(ALLOCTAP_LIBDW_LIBRARY dw)
  find_library(ALLOCTAP_LIBELF_LIBRARY elf)
  mark_as_advanced(ALLOCTAP_LIBDW_INCLUDE_DIR ALLOCTAP_LIBDW_LIBRARY ALLOCTAP_LIBELF_LIBRARY)
  if(ALLOCTAP_LIBDW_INCLUDE_DIR AND ALLOCTAP_LIBDW_LIBRARY AND ALLOCTAP_LIBELF_LIBRARY)
    add_library(alloctap::libdw INTERFACE IMPORTED GLOBAL)
    target_include_directories(alloctap::libdw SYSTEM
                               INTERFACE "${ALLOCTAP_LIBDW_INCLUDE_DIR}")
    target_link_libraries(alloctap::libdw INTERFACE "${ALLOCTAP_LIBDW_LIBRARY}"
                                                    "${ALLOCTAP_LIBELF_LIBRARY}")
  endif()
endfunction()
