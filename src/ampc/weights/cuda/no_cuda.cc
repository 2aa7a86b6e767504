// Stands in for cuda_device.cc in a build without CUDA.
#include "ampc/weights/device.h"

namespace ampc::weights {

std::vector<std::unique_ptr<Device>> cuda_devices() { throw DeviceError("this ampc was built without CUDA"); }

}  // namespace ampc::weights
