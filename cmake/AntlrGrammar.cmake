# Lexer and parser from an ANTLR grammar, as a static library.
#
#   ampc_add_grammar(TARGET path/Name.g4 NAMESPACE name [RUNTIME dir])
#
# RUNTIME holds an antlr4-runtime.h of our own, which comes before the runtime's on the include path.
# Users of TARGET see the generated headers and the runtime's as system headers: neither is clean under our warnings.
find_program(ANTLR4 antlr4 REQUIRED)
find_path(ANTLR4_INCLUDE_DIR ANTLRErrorListener.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(ANTLR4_LIBRARY NAMES libantlr4-runtime.a antlr4-runtime REQUIRED)
mark_as_advanced(ANTLR4 ANTLR4_INCLUDE_DIR ANTLR4_LIBRARY)

function(ampc_add_grammar target grammar)
  cmake_parse_arguments(arg "" "NAMESPACE;RUNTIME" "" ${ARGN})
  get_filename_component(name "${grammar}" NAME_WE)
  get_filename_component(file "${grammar}" NAME)
  get_filename_component(folder "${grammar}" DIRECTORY)
  get_filename_component(folder "${folder}" ABSOLUTE)
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(generated)
  foreach(part Lexer Parser)
    list(APPEND generated "${out}/${name}${part}.cpp" "${out}/${name}${part}.h")
  endforeach()
  # The tool writes the grammar's path, as it was spelt, into each file: a bare name keeps them the same everywhere.
  add_custom_command(
    OUTPUT ${generated}
    BYPRODUCTS "${out}/${name}.interp" "${out}/${name}.tokens" "${out}/${name}Lexer.interp" "${out}/${name}Lexer.tokens"
    COMMAND "${ANTLR4}" -Dlanguage=Cpp -no-visitor -no-listener -Werror -package "${arg_NAMESPACE}" -o "${out}" "${file}"
    WORKING_DIRECTORY "${folder}"
    DEPENDS "${folder}/${file}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/AntlrLazily.cmake"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${out}" "-DNAME=${name}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/AntlrLazily.cmake"
    COMMENT "Generating the parser of ${file}"
    VERBATIM)
  add_library(${target} STATIC ${generated})
  # The generated code has u8 literals, which C++20 gives another type.
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17)
  target_compile_options(${target} PRIVATE -w)
  target_include_directories(${target} SYSTEM PUBLIC ${arg_RUNTIME} "${ANTLR4_INCLUDE_DIR}" "${out}")
  target_link_libraries(${target} PUBLIC "${ANTLR4_LIBRARY}" Threads::Threads)
endfunction()
