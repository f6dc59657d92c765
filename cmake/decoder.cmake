# Used by the build and, once installed, by alloctap-config.cmake. Defines alloctap::decoder where code
# of the target can be patched: what decodes its instructions. On x86-64 that is Zydis, where it is
# (not every version of it brings a CMake package, but on Windows its headers need what that says);
# alloctap's own table on AArch64.
function(alloctap_find_decoder)
  if(TARGET alloctap::decoder)
    return()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    add_library(alloctap::decoder INTERFACE IMPORTED GLOBAL)
  elseif(WIN32)
    find_package(Zydis CONFIG QUIET NAMES zydis Zydis)
    if(TARGET Zydis::Zydis)
      add_library(alloctap::decoder INTERFACE IMPORTED GLOBAL)
      target_link_libraries(alloctap::decoder INTERFACE Zydis::Zydis)
    endif()
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    find_path(ALLOCTAP_ZYDIS_INCLUDE_DIR Zydis/Zydis.h)
    find_library(ALLOCTAP_ZYDIS_LIBRARY Zydis)
    mark_as_advanced(ALLOCTAP_ZYDIS_INCLUDE_DIR ALLOCTAP_ZYDIS_LIBRARY)
    if(ALLOCTAP_ZYDIS_INCLUDE_DIR AND ALLOCTAP_ZYDIS_LIBRARY)
      add_library(alloctap::decoder INTERFACE IMPORTED GLOBAL)
      target_include_directories(alloctap::decoder SYSTEM
                                 INTERFACE "${ALLOCTAP_ZYDIS_INCLUDE_DIR}")
      target_link_libraries(alloctap::decoder INTERFACE "${ALLOCTAP_ZYDIS_LIBRARY}")
    endif()
  endif()
endfunction()
