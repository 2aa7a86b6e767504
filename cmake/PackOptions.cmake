# Read by CPack for each kind of package: a Debian package names the libraries that it needs, an archive has them.
set(CPACK_COMPONENTS_ALL ampc)
if(CPACK_GENERATOR STREQUAL "DEB")
  list(APPEND CPACK_COMPONENTS_ALL debian)
else()
  list(APPEND CPACK_COMPONENTS_ALL libraries)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
