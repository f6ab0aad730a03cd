# Libraries as Debian packages them (scripts/packages lists the packages).
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(TIFF REQUIRED)
find_package(GIF REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
find_package(dnnl REQUIRED)

add_library(vpd_dependencies INTERFACE)
target_include_directories(vpd_dependencies INTERFACE ${CMAKE_SOURCE_DIR} SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(vpd_dependencies INTERFACE OpenMP::OpenMP_C ${HDF5_C_LIBRARIES} ZLIB::ZLIB PNG::PNG JPEG::JPEG
  TIFF::TIFF GIF::GIF PkgConfig::YAML PkgConfig::JANSSON PkgConfig::XXHASH DNNL::dnnl m)
