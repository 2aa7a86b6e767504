# Generated lexers and parsers make their automata when the program is loaded, which costs milliseconds whether they are
# used or not. Here they make them with the first lexer or parser.
#
#   cmake -DFOLDER=dir -DNAME=Amp -P AntlrLazily.cmake
foreach(part Lexer Parser)
  set(class "${NAME}${part}")
  file(READ "${FOLDER}/${class}.cpp" code)
  string(REPLACE "${class}::Initializer ${class}::_init;" "" changed "${code}")
  string(REGEX REPLACE "(\n${class}::${class}\\([^\n]*\\{\n)" "\\1  static const Initializer once;\n" changed "${changed}")
  string(FIND "${code}" "${class}::Initializer ${class}::_init;" removed)
  string(FIND "${changed}" "static const Initializer once;" inserted)
  if(removed EQUAL -1 OR inserted EQUAL -1)
    message(FATAL_ERROR "${class}.cpp is not as this tool's version of ANTLR was seen to write it")
  endif()
  file(WRITE "${FOLDER}/${class}.cpp" "${changed}")
endforeach()
