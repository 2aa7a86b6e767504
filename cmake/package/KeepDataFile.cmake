# cmake -P KeepDataFile.cmake FILE: a model without large weights has no data file, and the build was told of one.
if(NOT EXISTS "${CMAKE_ARGV3}")
  file(WRITE "${CMAKE_ARGV3}" "")
endif()
