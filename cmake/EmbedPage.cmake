# The report's page as a C++ source: page.html with its style and script in it.
#
#   cmake -DFOLDER=src/ampc/emit/report -DOUT=page.cc -P EmbedPage.cmake
file(READ "${FOLDER}/page.html" page)
foreach(part css js)
  file(READ "${FOLDER}/page.${part}" text)
  string(REPLACE "<!--${part}-->" "${text}" page "${page}")
endforeach()
file(WRITE "${OUT}" "// Made from page.html, page.css and page.js.
#include \"ampc/emit/report_form.h\"

namespace ampc::emit {

std::string_view report_page() {
  return R\"page(${page})page\";
}

}  // namespace ampc::emit
")
