# Everything that ampc stands on. Debian 12 has all of it but a recent onnx, which is built once and kept (BuildOnnx.cmake).
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)  # before ONNX, whose package refers to protobuf::libprotobuf
find_package(TBB REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost REQUIRED CONFIG)  # headers alone: Boost.Graph
find_path(AMPC_DTL_INCLUDE dtl/dtl.hpp REQUIRED)  # line by line differences; headers alone
mark_as_advanced(AMPC_DTL_INCLUDE)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)

# onnx: one that is installed and new enough, else the one kept in the cache, else built into the cache now.
include("${CMAKE_CURRENT_LIST_DIR}/BuildOnnx.cmake")
find_package(ONNX ${onnx_least} QUIET CONFIG)
if(NOT ONNX_FOUND)
  onnx_cache_dir(onnx_cache)
  onnx_key(onnx_name)
  set(onnx_prefix "${onnx_cache}/${onnx_name}")
  if(NOT EXISTS "${onnx_prefix}/lib/cmake/ONNX/ONNXConfig.cmake")
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
    onnx_build("${onnx_prefix}" "${Python3_EXECUTABLE}" "${jobs}")
  endif()
  find_package(ONNX ${onnx_least} REQUIRED CONFIG PATHS "${onnx_prefix}" NO_DEFAULT_PATH)
endif()
message(STATUS "onnx ${ONNX_VERSION}: ${ONNX_DIR}")
