# Models in mixed precision as a step of the build.
#
#   amp_compile_model(TARGET name MODEL file RULES file
#     [IMPORTS dir…]          folders where imported rule files are looked for (-I)
#     [DTYPE fp16|bf16…]      one output for each; without it the rules say which, and there is one
#     [LEVEL name] [TARGETS name…]
#     [OUTPUT file]           in the current binary folder; {model} and {dtype} stand for the model's stem and the data
#                             type; a folder where it ends in '/'. {model}.{dtype}.onnx by default, or <TARGET>.onnx
#     [DATA_FILE]             weights go into a second file, <output>.data, which is empty where none is large
#     [EXTERNAL_DATA file…]   the model's own data files, where the build makes them (others are found by themselves)
#     [DEPENDS what…]         more to build first: files and targets
#     [OPTIONS option…]       more options of ampc
#     [INSTALL dir [COMPONENT name]]
#     [EXCLUDE_FROM_ALL])
#
# makes the target `name`. Files are looked for beside CMakeLists.txt; RULES may also be one that ships with ampc, such as
# default.amp. The files that a run read are known to the next build: rule files that others import, the model's data
# files. The target's property AMPC_OUTPUTS lists what it makes, AMPC_OUTPUT_fp16 and AMPC_OUTPUT_bf16 each by its type.

# What a depfile cannot carry through CMake's rewriting of it: such an output is made again by every build.
function(_ampc_warn_of_names function)
  if(NOT CMAKE_GENERATOR MATCHES "Ninja")
    return()
  endif()
  foreach(path IN LISTS ARGN)
    if(path MATCHES "[#$]")
      message(WARNING "${function}: CMake's Ninja generators misread '#' and '$' in the list of files that were read, and "
        "will compile each time what reads ${path}. Another name, or the generator Unix Makefiles, does without.")
    endif()
  endforeach()
endfunction()

function(amp_compile_model)
  set(flags EXCLUDE_FROM_ALL DATA_FILE)
  set(single TARGET MODEL RULES LEVEL OUTPUT INSTALL COMPONENT)
  set(lists IMPORTS DTYPE TARGETS EXTERNAL_DATA DEPENDS OPTIONS)
  cmake_parse_arguments(PARSE_ARGV 0 arg "${flags}" "${single}" "${lists}")
  set(me "amp_compile_model(${arg_TARGET})")
  _ampc_check_arguments("${me}" "${single};${lists};${flags}" "TARGET;MODEL;RULES")
  _ampc_check_dtypes("${me}" ${arg_DTYPE})
  _ampc_check_options("${me}" OPTIONS ${arg_OPTIONS}
    KEYWORDS -o:OUTPUT --output:OUTPUT --dtype:DTYPE --level:LEVEL --external-data:DATA_FILE
    OWN --depfile --write-if-changed --emit --explain --help -h --version)
  if(TARGET "${arg_TARGET}")
    message(FATAL_ERROR "${me}: a target of this name is there already.")
  elseif(arg_COMPONENT AND NOT arg_INSTALL)
    message(FATAL_ERROR "${me}: COMPONENT is about what is installed, and there is no INSTALL.")
  endif()

  _ampc_find_file(model "${me}" MODEL "${arg_MODEL}")
  _ampc_find_file(rules "${me}" RULES "${arg_RULES}")
  set(inputs "${model}" "${rules}")
  foreach(name IN LISTS arg_EXTERNAL_DATA)
    _ampc_find_file(path "${me}" EXTERNAL_DATA "${name}")
    list(APPEND inputs "${path}")
  endforeach()
  get_filename_component(stem "${model}" NAME_WLE)

  _ampc_plan_options(options "${me}")
  if(arg_DATA_FILE)
    list(APPEND options --external-data)
  endif()
  # The build runs many at a time already, and says what it does itself.
  if(NOT "${arg_OPTIONS}" MATCHES "(^|;)(-j|--jobs)")
    list(APPEND options -j1)
  endif()
  if(NOT "${arg_OPTIONS}" MATCHES "(^|;)(-v|--verbose)(;|$)")
    list(APPEND options -q)
  endif()
  # Under make, an output that is older than what it was made of would be made again by every later build.
  if(CMAKE_GENERATOR MATCHES "Ninja")
    list(APPEND options --write-if-changed)
  endif()

  set(dtypes ${arg_DTYPE})
  set(default "{model}.{dtype}.onnx")
  if(NOT dtypes)
    set(dtypes "rules")
    set(default "${arg_TARGET}.onnx")
  endif()
  set(pattern "${arg_OUTPUT}")
  if(NOT pattern OR pattern MATCHES "/$")
    string(APPEND pattern "${default}")
  endif()
  list(LENGTH dtypes count)
  if(count GREATER 1 AND NOT pattern MATCHES "{dtype}")
    message(FATAL_ERROR "${me}: OUTPUT '${arg_OUTPUT}' would be the same file for ${count} data types; put {dtype} into it.")
  elseif(NOT arg_DTYPE AND pattern MATCHES "{dtype}")
    message(FATAL_ERROR "${me}: OUTPUT '${arg_OUTPUT}' has {dtype} in it, and there is no DTYPE.")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${arg_TARGET}.dir")
  file(MAKE_DIRECTORY "${folder}")
  get_property(package GLOBAL PROPERTY AMPC_PACKAGE_DIR)
  set(outputs)
  set(installed)
  set(properties)
  foreach(dtype IN LISTS dtypes)
    string(REPLACE "{model}" "${stem}" output "${pattern}")
    string(REPLACE "{dtype}" "${dtype}" output "${output}")
    get_filename_component(output "${output}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    get_property(owner GLOBAL PROPERTY "AMPC_OWNER_${output}")
    if(owner)
      message(FATAL_ERROR "${me}: ${output} is made by ${owner} already; give another OUTPUT.")
    elseif(output MATCHES "[#<>;]")
      message(FATAL_ERROR "${me}: CMake makes no file with '${CMAKE_MATCH_0}' in its name, as in ${output}; give another OUTPUT.")
    elseif(output IN_LIST inputs)
      message(FATAL_ERROR "${me}: the output ${output} is an input; give another OUTPUT.")
    endif()
    set_property(GLOBAL PROPERTY "AMPC_OWNER_${output}" "${arg_TARGET}")

    set(made "${output}")
    set(finish)
    if(arg_DATA_FILE)
      list(APPEND made "${output}.data")
      list(APPEND finish COMMAND "${CMAKE_COMMAND}" -P "${package}/KeepDataFile.cmake" "${output}.data")
    endif()
    # CMake's Makefiles (3.25 and 3.31 do, 3.20 and 4.4 do not) add what a depfile lists to what it listed before: a file
    # that is imported no more would go on to count, and once it is gone, all is compiled by every build. Without this
    # file they begin anew.
    if(CMAKE_GENERATOR MATCHES "Makefiles")
      list(APPEND finish COMMAND "${CMAKE_COMMAND}" -E rm -f "${folder}/compiler_depend.internal")
    endif()
    set(prepare)
    get_filename_component(parent "${output}" DIRECTORY)
    if(NOT parent STREQUAL CMAKE_CURRENT_BINARY_DIR)
      set(prepare COMMAND "${CMAKE_COMMAND}" -E make_directory "${parent}")
    endif()
    set(typed)
    set(comment "Compiling ${stem} as ${arg_RULES} says")
    if(arg_DTYPE)
      set(typed --dtype ${dtype})
      set(comment "Compiling ${stem} to ${dtype}")
    endif()
    set(depfile)
    if(CMAKE_GENERATOR MATCHES "Makefiles|Ninja")
      list(APPEND typed --depfile "${folder}/${dtype}.d")
      set(depfile DEPFILE "${folder}/${dtype}.d")
    endif()
    add_custom_command(
      OUTPUT ${made} ${prepare}
      COMMAND "$<TARGET_FILE:ampc::ampc>" "${rules}" "${model}" -o "${output}" ${typed} ${options} ${arg_OPTIONS}
      ${finish}
      DEPENDS "$<TARGET_FILE:ampc::ampc>" ${inputs} ${arg_DEPENDS} ${depfile}
      COMMENT "${comment}"
      VERBATIM)
    list(APPEND outputs "${output}")
    list(APPEND installed ${made})
    list(APPEND properties AMPC_OUTPUT_${dtype} "${output}")
  endforeach()
  _ampc_warn_of_names("${me}" ${inputs} ${outputs})

  set(all ALL)
  if(arg_EXCLUDE_FROM_ALL)
    set(all)
  endif()
  add_custom_target("${arg_TARGET}" ${all} DEPENDS ${outputs})
  set_target_properties("${arg_TARGET}" PROPERTIES AMPC_OUTPUTS "${outputs}" AMPC_DATA_FILE "${arg_DATA_FILE}" ${properties})
  if(arg_INSTALL)
    set(component)
    if(arg_COMPONENT)
      set(component COMPONENT "${arg_COMPONENT}")
    endif()
    install(FILES ${installed} DESTINATION "${arg_INSTALL}" ${component})
  endif()
endfunction()
