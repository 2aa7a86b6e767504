// Hands the model that was linked into the program to whatever runs it; here, to a count of its bytes.
#include <cstdio>

#include "digits_data.h"

int main() { std::printf("a model of %llu bytes\n", static_cast<unsigned long long>(digits_fp16_onnx_size)); }
