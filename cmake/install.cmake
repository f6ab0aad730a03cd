# The program needs no library of ours. The installation can be moved as a whole.
install(TARGETS vpd_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# libvpd.so for C (pkg-config vpd, or find_package(vpd) and vpd::vpd) and for python/.
include(CMakePackageConfigHelpers)
set(vpd_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/vpd)
install(TARGETS vpd EXPORT vpd_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES api/vpd.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT vpd_targets NAMESPACE vpd:: FILE vpd-config.cmake DESTINATION ${vpd_cmake_folder})
write_basic_package_version_file(vpd-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vpd-config-version.cmake DESTINATION ${vpd_cmake_folder})
file(RELATIVE_PATH vpd_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # relative path from the file to the prefix
configure_file(cmake/vpd.pc.in vpd.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vpd.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The sample video, the pretrained model, the demo's configs (below share/vpd, at the paths in the docs) and the docs.
file(GLOB vpd_demo_configs CONFIGURE_DEPENDS demo/*.yaml)
install(FILES data/mujoco_blocks_sample.h5 data/mujoco_blocks_more.h5 data/mujoco_blocks_demo.txt
        data/mujoco_pusher.h5 data/SOURCE.md
  data/make_mujoco_scenes.py data/mujoco_objects.py DESTINATION ${CMAKE_INSTALL_DATADIR}/vpd/data)
file(GLOB vpd_scenes CONFIGURE_DEPENDS scenes/*.yaml)
install(FILES ${vpd_scenes} DESTINATION ${CMAKE_INSTALL_DATADIR}/vpd/scenes)
install(FILES demo/carried.h5 ${vpd_demo_configs} DESTINATION ${CMAKE_INSTALL_DATADIR}/vpd/demo)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Manual pages and completion come from the program's own tables, so they are made only if the program runs here.
if(NOT CMAKE_CROSSCOMPILING AND NOT VPD_FUZZ)
  set(vpd_run ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:vpd_program>)
  add_custom_command(OUTPUT man/vpd.1 vpd.bash vpd.zsh DEPENDS vpd_program
    COMMAND ${CMAKE_COMMAND} -E rm -rf man
    COMMAND ${vpd_run} man --output man
    COMMAND ${vpd_run} completion bash > vpd.bash
    COMMAND ${vpd_run} completion zsh > vpd.zsh VERBATIM)
  add_custom_target(vpd_man ALL DEPENDS man/vpd.1 vpd.bash vpd.zsh)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/vpd.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME vpd)
  foreach(folder site-functions vendor-completions) # where zsh looks below /usr/local, and below /usr on Debian
    install(FILES ${CMAKE_BINARY_DIR}/vpd.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder} RENAME _vpd)
  endforeach()
endif()

# cpack in the build folder makes a .deb that depends on the packages of the linked libraries.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vpd)
set(CPACK_PACKAGE_CONTACT "vpd <vpd@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "3D particle simulators learned from multi-view RGB-D video")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS ffmpeg)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
