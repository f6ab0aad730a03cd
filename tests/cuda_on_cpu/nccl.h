// SPDX-License-Identifier: Apache-2.0
// Stands in for NCCL's header of this name: what nn/cuda/nccl.cu uses. tests/cuda_on_cpu/nccl/nccl.cpp has the library.
#ifndef VPD_TESTS_CUDA_ON_CPU_NCCL_H
#define VPD_TESTS_CUDA_ON_CPU_NCCL_H

#include <cuda_runtime.h>

#define NCCL_MAJOR 2

typedef struct NcclOnCpuComm *ncclComm_t;
struct ncclUniqueId {
    char internal[128];
};
enum ncclResult_t { ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError, ncclInvalidArgument };
enum ncclDataType_t { ncclInt8 = 0 };

extern "C" {
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
const char *ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream);
}

#endif
