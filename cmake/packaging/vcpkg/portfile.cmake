# An overlay port, for the checkout that it stands in:
#   vcpkg install alloctap --overlay-ports=cmake/packaging/vcpkg --no-binarycaching
# vcpkg takes a package from its cache as long as the port is the same, and does not see the checkout.
set(VCPKG_BUILD_TYPE release) # headers alone
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DALLOCTAP_BUILD_TESTS=OFF -DALLOCTAP_BUILD_EXAMPLES=OFF -DALLOCTAP_BUILD_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/alloctap)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
