# Used by the build and, once installed, by alloctap-config.cmake: protozero has no CMake package that
# every distribution ships. Defines alloctap::pprof_libraries where protozero and zlib are there; else
# alloctap_library_of_pprof_libraries is the one that is missing.
set(alloctap_library_of_pprof_libraries "protozero and zlib (Debian: libprotozero-dev, zlib1g-dev)")
function(alloctap_find_pprof_libraries)
  if(TARGET alloctap::pprof_libraries)
    return()
  endif()
  find_path(ALLOCTAP_PROTOZERO_INCLUDE_DIR protozero/basic_pbf_builder.hpp)
  mark_as_advanced(ALLOCTAP_PROTOZERO_INCLUDE_DIR)
  find_package(ZLIB QUIET GLOBAL)
  if(ALLOCTAP_PROTOZERO_INCLUDE_DIR AND TARGET ZLIB::ZLIB)
    add_library(alloctap::pprof_libraries INTERFACE IMPORTED GLOBAL)
    target_include_directories(alloctap::pprof_libraries SYSTEM
                               INTERFACE "${ALLOCTAP_PROTOZERO_INCLUDE_DIR}")
    target_link_libraries(alloctap::pprof_libraries INTERFACE ZLIB::ZLIB)
  elseif(ALLOCTAP_PROTOZERO_INCLUDE_DIR)
    set(alloctap_library_of_pprof_libraries "zlib (Debian: zlib1g-dev)" PARENT_SCOPE)
  elseif(TARGET ZLIB::ZLIB)
    set(alloctap_library_of_pprof_libraries "protozero (Debian: libprotozero-dev)" PARENT_SCOPE)
  endif()
endfunction()
