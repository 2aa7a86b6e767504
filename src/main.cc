#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "ampc/driver/driver.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const int code = ampc::driver::run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
  std::cout.flush();
  std::cerr.flush();
  // What the libraries keep in static objects would be freed one by one: a tenth of a small run.
  std::_Exit(code);
}
