# Builds onnx's C++ library from its pinned source release and keeps the result outside every build tree.
#
#   cmake [-DONNX_PREFIX=DIR] [-DPYTHON=python3] [-DJOBS=N] -P cmake/BuildOnnx.cmake
#
# Prints the folder of a library that will do: one that the system has, the one in the cache, or one built just now.
# Debian's onnx is 1.12 and knows no opset above 17, so most machines come this way once. The source release is an
# sdist on PyPI, which pip brings and whose digest is checked here.
set(onnx_version 1.23.2)
set(onnx_least 1.20)
set(onnx_sha256 008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8)
# Static registration is off because a run needs the schemas of a few opsets, not of all: see src/ampc/model/schemas.cc.
set(onnx_options
    -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_STANDARD=17
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON
    -DONNX_ML=ON
    -DONNX_USE_PROTOBUF_SHARED_LIBS=ON
    -DONNX_DISABLE_STATIC_REGISTRATION=ON
    -DONNX_BUILD_PYTHON=OFF
    -DONNX_GEN_PB_TYPE_STUBS=OFF)

# The key under which a finished library is kept: what it was built from and how.
function(onnx_key out)
  string(SHA256 digest "${onnx_version};${onnx_sha256};${onnx_options}")
  string(SUBSTRING "${digest}" 0 12 short)
  set(${out} "onnx-${onnx_version}-${short}" PARENT_SCOPE)
endfunction()

function(onnx_cache_dir out)
  if(NOT "$ENV{AMPC_CACHE_DIR}" STREQUAL "")
    set(dir "$ENV{AMPC_CACHE_DIR}")
  elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(dir "$ENV{XDG_CACHE_HOME}/ampc")
  else()
    set(dir "$ENV{HOME}/.cache/ampc")
  endif()
  set(${out} "${dir}" PARENT_SCOPE)
endfunction()

# The prefix of an installed onnx that is new enough, or nothing. (find_package needs a project; this does not.)
function(onnx_installed out)
  set(${out} "" PARENT_SCOPE)
  file(GLOB versions /usr/local/lib*/cmake/ONNX/ONNXConfigVersion.cmake /usr/lib*/cmake/ONNX/ONNXConfigVersion.cmake
       /usr/lib/*/cmake/ONNX/ONNXConfigVersion.cmake)
  set(PACKAGE_FIND_VERSION ${onnx_least})
  foreach(file IN LISTS versions)
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
    include("${file}")
    if(PACKAGE_VERSION_COMPATIBLE)
      get_filename_component(dir "${file}" DIRECTORY)
      set(${out} "${dir}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Runs a command and, where it fails, removes `work` and stops with what the command said.
function(onnx_run work)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE rc OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT rc EQUAL 0)
    file(REMOVE_RECURSE "${work}")
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "this command failed:\n  ${line}\n${text}")
  endif()
endfunction()

# Builds into a temporary prefix and renames, so that a broken-off build is never taken for a library.
function(onnx_build prefix python jobs)
  if(EXISTS "${prefix}/lib/cmake/ONNX/ONNXConfig.cmake")
    return()
  endif()
  if(CMAKE_VERSION VERSION_LESS 3.26)
    message(FATAL_ERROR "building onnx ${onnx_version} needs CMake 3.26 (this is ${CMAKE_VERSION}): "
                        "run cmake/setup.sh, which brings both")
  endif()
  message(STATUS "building onnx ${onnx_version} once, into ${prefix} (some minutes)")
  string(RANDOM LENGTH 8 tag)
  set(work "${prefix}.${tag}")
  file(MAKE_DIRECTORY "${work}")
  onnx_run("${work}" "${python}" -m pip download -q "onnx==${onnx_version}" --no-binary onnx --no-deps -d "${work}")
  set(archive "${work}/onnx-${onnx_version}.tar.gz")
  file(SHA256 "${archive}" digest)
  if(NOT digest STREQUAL onnx_sha256)
    file(REMOVE_RECURSE "${work}")
    message(FATAL_ERROR "what pip brought is not the onnx release that this build pins: SHA-256 is ${digest}, not ${onnx_sha256}")
  endif()
  file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${work}")
  set(launcher)
  find_program(ccache ccache)
  if(ccache)
    set(launcher -DCMAKE_CXX_COMPILER_LAUNCHER=${ccache})
  endif()
  onnx_run("${work}" "${CMAKE_COMMAND}" -S "${work}/onnx-${onnx_version}" -B "${work}/build" ${onnx_options} ${launcher}
           "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=${work}/=" "-DCMAKE_INSTALL_PREFIX=${work}/prefix")
  onnx_run("${work}" "${CMAKE_COMMAND}" --build "${work}/build" --target install -j ${jobs})
  if(NOT EXISTS "${prefix}")
    file(RENAME "${work}/prefix" "${prefix}")
  endif()
  file(REMOVE_RECURSE "${work}")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(NOT DEFINED PYTHON)
    set(PYTHON python3)
  endif()
  if(NOT DEFINED JOBS)
    cmake_host_system_information(RESULT JOBS QUERY NUMBER_OF_LOGICAL_CORES)
  endif()
  set(found "${ONNX_PREFIX}")
  if(NOT found)
    onnx_installed(found)
  endif()
  if(NOT found)
    onnx_cache_dir(cache)
    onnx_key(key)
    set(found "${cache}/${key}")
    set(ONNX_PREFIX "${found}")
  endif()
  if(ONNX_PREFIX)
    onnx_build("${ONNX_PREFIX}" "${PYTHON}" "${JOBS}")
  endif()
  message(STATUS "onnx at ${found}")
endif()
