# `cmake --install` puts program and library where they find one another, wherever the folder is moved to.
include(GNUInstallDirs)
set_target_properties(vpd_program PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS vpd_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS vpd LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Manual page and completion come from the program's own tables, so they are made when the program runs here.
if(NOT CMAKE_CROSSCOMPILING AND NOT VPD_FUZZ)
  add_custom_command(OUTPUT vpd.1 vpd.bash DEPENDS vpd_program
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:vpd_program> man > vpd.1
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:vpd_program> completion > vpd.bash VERBATIM)
  add_custom_target(vpd_man ALL DEPENDS vpd.1 vpd.bash)
  install(FILES ${CMAKE_BINARY_DIR}/vpd.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/vpd.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME vpd)
endif()
