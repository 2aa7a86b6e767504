#include <iostream>
#include <string>
#include <vector>

#include "ampc/driver/driver.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return ampc::driver::run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
