# Used by the build and, once installed, by alloctap-config.cmake: RapidJSON's own CMake package names
# no target, and not every distribution ships one.
set(alloctap_library_of_rapidjson "RapidJSON (Debian: rapidjson-dev)")
function(alloctap_find_rapidjson)
  if(TARGET alloctap::rapidjson)
    return()
  endif()
  find_path(ALLOCTAP_RAPIDJSON_INCLUDE_DIR rapidjson/document.h)
  mark_as_advanced(ALLOCTAP_RAPIDJSON_INCLUDE_DIR)
  if(ALLOCTAP_RAPIDJSON_INCLUDE_DIR)
    add_library(alloctap::rapidjson INTERFACE IMPORTED GLOBAL)
    target_include_directories(alloctap::rapidjson SYSTEM
                               INTERFACE "${ALLOCTAP_RAPIDJSON_INCLUDE_DIR}")
  endif()
endfunction()
