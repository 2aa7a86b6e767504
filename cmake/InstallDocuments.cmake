# Installs what `ampc help` writes: the manual page and completions. `cmake/Install.cmake` sets `program`, `documents` (a folder of
# the build), `destination_man` and `destination_data`.

function(ampc_install_document folder name)
  execute_process(COMMAND "${program}" help ${ARGN} OUTPUT_FILE "${documents}/${name}" COMMAND_ERROR_IS_FATAL ANY)
  if(NOT IS_ABSOLUTE "${folder}")
    set(folder "${CMAKE_INSTALL_PREFIX}/${folder}")
  endif()
  file(INSTALL DESTINATION "${folder}" TYPE FILE FILES "${documents}/${name}")
endfunction()

string(RANDOM LENGTH 12 run)  # others may install from the same build at the same time
set(documents "${documents}/${run}")
file(MAKE_DIRECTORY "${documents}")
ampc_install_document("${destination_man}" ampc.1 --man)
ampc_install_document("${destination_data}/bash-completion/completions" ampc --completions bash)
ampc_install_document("${destination_data}/zsh/site-functions" _ampc --completions zsh)
ampc_install_document("${destination_data}/fish/vendor_completions.d" ampc.fish --completions fish)
file(REMOVE_RECURSE "${documents}")
