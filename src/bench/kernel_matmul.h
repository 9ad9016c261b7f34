// The products' part of the kernel figures.
#pragma once

#include "bench/kernel_speed.h"

namespace inferens {

Status measure_matmuls(const KernelTable& kernels, WorkerPool& pool, const KernelOptions& options, std::vector<KernelSpeed>& out);

}  // namespace inferens
