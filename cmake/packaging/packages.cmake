# `cpack` in the build directory, or the target `package`, makes alloctap-tools_*.deb and
# liballoctap-dev_*.deb.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME alloctap)
# Each package has one of its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_CONTACT "alloctap maintainers <maintainers@alloctap.invalid>"
    CACHE STRING "Who answers for the packages: name and address of whoever gives them to others")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_COMPONENTS_ALL liballoctap-dev)
if(TARGET alloctap-run)
  list(APPEND CPACK_COMPONENTS_ALL alloctap-tools)
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/finish_debian.cmake")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_ALLOCTAP-TOOLS_PACKAGE_NAME alloctap-tools)
set(CPACK_DEBIAN_ALLOCTAP-TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_ALLOCTAP-TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_ALLOCTAP-TOOLS_DESCRIPTION
    "memory tracker for programs as they are
alloctap-run starts a program and reports which call stacks hold its memory:
as text, as a page with flame graphs for a browser, or in the formats of other
tools. It finds leaks and misuse of blocks. alloctap-convert makes other
reports of a recorded one, alloctap-diff compares two.")

set(CPACK_DEBIAN_LIBALLOCTAP-DEV_PACKAGE_NAME liballoctap-dev)
set(CPACK_DEBIAN_LIBALLOCTAP-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBALLOCTAP-DEV_PACKAGE_ARCHITECTURE all)
# What alloctap.pc names; what is recommended is for components of the CMake package.
set(CPACK_DEBIAN_LIBALLOCTAP-DEV_PACKAGE_DEPENDS "libboost-dev (>= 1.74), libdw-dev")
set(CPACK_DEBIAN_LIBALLOCTAP-DEV_PACKAGE_RECOMMENDS
    "libprotozero-dev, libzydis-dev, rapidjson-dev, zlib1g-dev")
set(CPACK_DEBIAN_LIBALLOCTAP-DEV_PACKAGE_SUGGESTS alloctap-tools)
set(CPACK_COMPONENT_LIBALLOCTAP-DEV_DESCRIPTION
    "memory tracker that a program embeds (header-only C++20 library)
A program that includes alloctap knows who holds its memory: every allocation
with its call stack, leaks, misuse, a game's frames, what a unit test leaves
behind. A tracker is one type, composed at compile time.
.
This package has the headers, a CMake package and a file for pkg-config.")

include(CPack)
