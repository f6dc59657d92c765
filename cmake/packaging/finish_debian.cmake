# Run by CPack before it packs: what Debian's policy wants beside the installed files, and where it
# wants some of them.
cmake_minimum_required(VERSION 3.25)
find_program(gzip gzip REQUIRED)

function(compress)
  foreach(file IN LISTS ARGN)
    execute_process(COMMAND "${gzip}" -9n "${file}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

# By these lists `uninstall` would remove what a package installed.
list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build_dir)
file(REMOVE "${build_dir}/install_manifest_alloctap-tools.txt"
            "${build_dir}/install_manifest_liballoctap-dev.txt")

# What is linked into the commands and the preloaded objects, and whose licences want to be handed on.
set(linked libabsl-dev libboost-dev libcli11-dev libprotozero-dev libzydis-dev rapidjson-dev zlib1g-dev)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(package IN LISTS CPACK_COMPONENTS_ALL)
  set(share "${CPACK_TEMPORARY_DIRECTORY}/${package}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
  file(REMOVE_RECURSE "${share}/doc")
  configure_file("${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in" "${share}/doc/${package}/changelog" @ONLY)
  file(READ "${CPACK_RESOURCE_FILE_LICENSE}" license)
  string(REGEX REPLACE "\n(.)" "\n \\1" license "${license}")
  string(REPLACE "\n\n" "\n .\n" license "${license}")
  configure_file("${CMAKE_CURRENT_LIST_DIR}/debian/copyright.in" "${share}/doc/${package}/copyright" @ONLY)
  set(overrides "${CMAKE_CURRENT_LIST_DIR}/debian/${package}.lintian-overrides")
  if(EXISTS "${overrides}")
    file(COPY_FILE "${overrides}" "${CPACK_TEMPORARY_DIRECTORY}/overrides")
    file(MAKE_DIRECTORY "${share}/lintian/overrides")
    file(RENAME "${CPACK_TEMPORARY_DIRECTORY}/overrides" "${share}/lintian/overrides/${package}")
  endif()
  if(package STREQUAL "alloctap-tools")
    foreach(library IN LISTS linked)
      set(notice "/usr/share/doc/${library}/copyright")
      if(EXISTS "${notice}")
        file(REAL_PATH "${notice}" notice)
        file(COPY_FILE "${notice}" "${share}/doc/${package}/copyright.${library}")
      endif()
    endforeach()
  endif()
  file(GLOB manual "${share}/man/man1/*.1")
  compress("${share}/doc/${package}/changelog" ${manual})
  # Debian's zsh does not look where others do.
  if(IS_DIRECTORY "${share}/zsh/site-functions")
    file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
  endif()
endforeach()
