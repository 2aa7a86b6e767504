# What is installed, and as what it is packed: an archive with the libraries that the program stands on, and a Debian
# package. Components: `ampc`; `libraries`, for the archive and the wheel; `debian`, for that package.
include(CMakePackageConfigHelpers)

set(ampc_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/ampc")
set(ampc_libraries_dir "${CMAKE_INSTALL_LIBDIR}/ampc")
set(AMPC_PROGRAM "${CMAKE_INSTALL_BINDIR}/ampc")
set(AMPC_RULES "${CMAKE_INSTALL_DATADIR}/ampc/rules")
configure_package_config_file(cmake/package/ampcConfig.cmake.in "${PROJECT_BINARY_DIR}/package/ampcConfig.cmake"
  INSTALL_DESTINATION "${ampc_package_dir}" PATH_VARS AMPC_PROGRAM AMPC_RULES NO_SET_AND_CHECK_MACRO)
# The program runs on the machine that builds, whatever it builds for.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/ampcConfigVersion.cmake" COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)

if(AMPC_PREBUILT AND NOT EXISTS "${AMPC_PREBUILT}")
  message(FATAL_ERROR "AMPC_PREBUILT is ${AMPC_PREBUILT}, and there is no such program.")
elseif(AMPC_PREBUILT)
  set(ampc_program "${AMPC_PREBUILT}")
  install(PROGRAMS "${ampc_program}" DESTINATION "${CMAKE_INSTALL_BINDIR}" RENAME ampc COMPONENT ampc)
else()
  set(ampc_program "$<TARGET_FILE:ampc_cli>")
  install(TARGETS ampc_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ampc)
endif()
install(DIRECTORY rules/ DESTINATION "${AMPC_RULES}" COMPONENT ampc)
install(FILES LICENSE README.md docs/language.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT ampc)
install(DIRECTORY bazel/ DESTINATION "${CMAKE_INSTALL_DATADIR}/ampc/bazel" COMPONENT ampc)
install(DIRECTORY cmake/package/ DESTINATION "${ampc_package_dir}" COMPONENT ampc PATTERN ampcConfig.cmake.in EXCLUDE)
install(FILES "${PROJECT_BINARY_DIR}/package/ampcConfig.cmake" "${PROJECT_BINARY_DIR}/package/ampcConfigVersion.cmake"
  DESTINATION "${ampc_package_dir}" COMPONENT ampc)
# The manual page and what shells complete are told by the program itself.
set(ampc_documents "${PROJECT_BINARY_DIR}/package/documents")
install(CODE "set(program \"${ampc_program}\")\nset(documents \"${ampc_documents}\")\n\
set(destination_man \"${CMAKE_INSTALL_MANDIR}/man1\")\nset(destination_data \"${CMAKE_INSTALL_DATADIR}\")" COMPONENT ampc)
install(SCRIPT cmake/InstallDocuments.cmake COMPONENT ampc)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright COMPONENT debian EXCLUDE_FROM_ALL)

# All but the C library, which has to fit the machine's loader.
install(CODE "set(program \"${ampc_program}\")\nset(destination \"${ampc_libraries_dir}\")\n\
set(licences \"${CMAKE_INSTALL_DOCDIR}/libraries\")" COMPONENT libraries EXCLUDE_FROM_ALL)
install(SCRIPT cmake/InstallLibraries.cmake COMPONENT libraries EXCLUDE_FROM_ALL)

# --- CPack -----------------------------------------------------------------------------------------------------------

set(CPACK_PACKAGE_NAME ampc)
set(CPACK_SYSTEM_NAME "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_VENDOR "the ampc project")
set(CPACK_PACKAGE_CONTACT "the ampc project <ampc@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "\
 The program ampc turns a trained ONNX model in fp32 into one in fp16 or bf16, by\n\
 rules that a team keeps beside its code. With its rules and a package for CMake.")
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/PackOptions.cmake")
include(CPack)
