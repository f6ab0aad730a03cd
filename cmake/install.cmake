# The program needs no library of ours and works wherever it is moved to. libvpd.so is installed once cmake/libvpd.map has names.
install(TARGETS vpd_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
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
