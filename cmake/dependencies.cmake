# Libraries as in Debian's packages (scripts/packages lists them).
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(TIFF REQUIRED)
find_package(GIF REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_search_module(HDF5 REQUIRED IMPORTED_TARGET hdf5-serial hdf5)  # FindHDF5 would link curl and more beside it
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# Only the C library: OpenEXR's package file requires its C++ libraries too.
find_path(OPENEXR_INCLUDE OpenEXR/openexr.h REQUIRED)
find_library(OPENEXR_LIBRARY NAMES OpenEXRCore OpenEXRCore-3_1 OpenEXRCore-3_2 OpenEXRCore-3_3 REQUIRED)

# oneDNN without pkg-config: Debian's package file requires OpenCL, which is not needed.
find_path(DNNL_INCLUDE dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(vpd_dnnl INTERFACE)
target_include_directories(vpd_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE})
target_link_libraries(vpd_dnnl INTERFACE ${DNNL_LIBRARY})

add_library(vpd_dependencies INTERFACE)
target_include_directories(vpd_dependencies INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(vpd_dependencies INTERFACE OpenMP::OpenMP_C PkgConfig::HDF5 ZLIB::ZLIB PNG::PNG JPEG::JPEG
  TIFF::TIFF GIF::GIF PkgConfig::WEBP ${OPENEXR_LIBRARY} PkgConfig::YAML PkgConfig::JANSSON PkgConfig::XXHASH vpd_dnnl m)

# for tests only
find_library(CMOCKA_LIBRARY cmocka)
find_path(CMOCKA_INCLUDE cmocka.h)
