# `cmake --install` puts program and library where they find one another, wherever the folder is moved to.
include(GNUInstallDirs)
set_target_properties(vpd_program PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS vpd_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS vpd LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
