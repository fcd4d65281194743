# SPDX-License-Identifier: Apache-2.0
# What people install: the command line, the window, and the C++ front end as one shared library with its headers.
#   cmake --install build/release --prefix PREFIX [--component cli|gui|dev]
#   cpack --config build/release/CPackConfig.cmake      three .deb packages
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A build tree finds its data as an installation does: in share/jaxscope, beside the executable.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share)
file(CREATE_LINK ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/share/jaxscope SYMBOLIC)

# One library of all of core. Users see what include/jaxscope declares; LLVM, oneDNN and core's own names stay inside.
add_library(jaxscope_shared SHARED cmake/shared.cpp)
set_target_properties(jaxscope_shared PROPERTIES OUTPUT_NAME jaxscope EXPORT_NAME jaxscope VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
target_link_libraries(jaxscope_shared PRIVATE -Wl,--whole-archive $<TARGET_FILE:jaxscope_pytree> $<TARGET_FILE:jaxscope_trace>
  $<TARGET_FILE:jaxscope_api> -Wl,--no-whole-archive jaxscope_api)
target_link_options(jaxscope_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map -Wl,--no-undefined)
target_include_directories(jaxscope_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(jaxscope_shared INTERFACE cxx_std_20)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/jaxscope)
install(TARGETS jaxscope RUNTIME COMPONENT cli)
install(DIRECTORY samples resources DESTINATION ${CMAKE_INSTALL_DATADIR}/jaxscope COMPONENT cli PATTERN CMakeLists.txt EXCLUDE
  PATTERN syntax EXCLUDE)  # the window brings it: two packages may not hold one file
install(DIRECTORY app/capture DESTINATION ${CMAKE_INSTALL_DATADIR}/jaxscope/app COMPONENT cli PATTERN __pycache__ EXCLUDE)
# Completions and the man page are printed by the program itself.
foreach(file IN ITEMS "bash;bash-completion/completions;jaxscope" "zsh;zsh/site-functions;_jaxscope" "fish;fish/vendor_completions.d;jaxscope.fish")
  list(GET file 0 shell)
  list(GET file 1 folder)
  list(GET file 2 name)
  list(APPEND help_commands COMMAND $<TARGET_FILE:jaxscope> --completions ${shell} > ${CMAKE_BINARY_DIR}/help/${shell})
  install(FILES ${CMAKE_BINARY_DIR}/help/${shell} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${name} COMPONENT cli)
endforeach()
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/help/jaxscope.1 COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/help ${help_commands}
  COMMAND $<TARGET_FILE:jaxscope> --man > ${CMAKE_BINARY_DIR}/help/jaxscope.1 DEPENDS jaxscope COMMENT "Completions and man page" VERBATIM)
add_custom_target(jaxscope_help ALL DEPENDS ${CMAKE_BINARY_DIR}/help/jaxscope.1)
install(FILES ${CMAKE_BINARY_DIR}/help/jaxscope.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cli)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT cli)
if(JAXSCOPE_GUI)
  install(TARGETS jaxscope-gui jaxscope-layout RUNTIME COMPONENT gui)
  install(FILES packaging/jaxscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT gui)
  install(FILES packaging/jaxscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps COMPONENT gui)
  install(FILES packaging/org.jaxscope.jaxscope.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo COMPONENT gui)
  install(FILES packaging/jaxscope-mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages RENAME jaxscope.xml COMPONENT gui)
  install(FILES resources/syntax/jaxpr.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/jaxscope/resources/syntax COMPONENT gui)
  # The window's fonts come along (fonts-inter, fonts-jetbrains-mono; both under the SIL Open Font License).
  foreach(font opentype/inter/Inter-Regular.otf opentype/inter/Inter-SemiBold.otf truetype/jetbrains-mono/JetBrainsMono-Regular.ttf)
    install(FILES /usr/share/fonts/${font} DESTINATION ${CMAKE_INSTALL_DATADIR}/jaxscope/fonts COMPONENT gui OPTIONAL)
  endforeach()
  foreach(package fonts-inter fonts-jetbrains-mono)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/jaxscope/fonts RENAME ${package}.txt
      COMPONENT gui OPTIONAL)
  endforeach()
endif()
install(TARGETS jaxscope_shared EXPORT jaxscopeTargets LIBRARY COMPONENT dev NAMELINK_COMPONENT dev)
install(DIRECTORY include/jaxscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(EXPORT jaxscopeTargets NAMESPACE jaxscope:: DESTINATION ${config_folder} COMPONENT dev)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/jaxscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/jaxscopeConfig.cmake.in ${CMAKE_BINARY_DIR}/jaxscopeConfig.cmake INSTALL_DESTINATION ${config_folder})
install(FILES ${CMAKE_BINARY_DIR}/jaxscopeConfig.cmake ${CMAKE_BINARY_DIR}/jaxscopeConfigVersion.cmake DESTINATION ${config_folder}
  COMPONENT dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL cli dev)
if(JAXSCOPE_GUI)
  list(APPEND CPACK_COMPONENTS_ALL gui)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The jaxscope developers <jaxscope@localhost>")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CLI_PACKAGE_NAME jaxscope)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS "libopenblas0-serial | libopenblas0")
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "jaxscope-gui, python3")
set(CPACK_DEBIAN_GUI_PACKAGE_NAME jaxscope-gui)
set(CPACK_DEBIAN_GUI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS "jaxscope (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libjaxscope-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_CLI_DESCRIPTION "command line: captures of JAX programs, their residuals, donations, memory plans and runs")
set(CPACK_COMPONENT_GUI_DESCRIPTION "the window of jaxscope: graphs of programs and of what autodiff keeps")
set(CPACK_COMPONENT_DEV_DESCRIPTION "C++ front end of jaxscope: JAX's transformations over C++ functions, headers and library")
include(CPack)
