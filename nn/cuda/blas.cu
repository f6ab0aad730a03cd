// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/blas.h"

#include "nn/cuda/library.h"
#include "nn/device_memory.h"

#include <cublas_v2.h>

#define NAME_OF_(number) "libcublas.so." #number
#define NAME_OF(number) NAME_OF_(number)
#define NAME_OF_LT_(number) "libcublasLt.so." #number
#define NAME_OF_LT(number) NAME_OF_LT_(number)

// Workspace of products (cuBLAS's own would be allocated within captured graphs).
constexpr size_t WORKSPACE = size_t{32} << 20;

struct CudaBlas {
    cublasHandle_t handle;
    void *workspace;
    decltype(&cublasCreate_v2) create;
    decltype(&cublasDestroy_v2) destroy;
    decltype(&cublasSetStream_v2) set_stream;
    decltype(&cublasSetWorkspace_v2) set_workspace;
    decltype(&cublasGemmEx_64) gemm;
    decltype(&cublasGetStatusString) text;
};

static bool ok(Device *device, const CudaBlas *blas, cublasStatus_t status, const char *what) {
    if (status != CUBLAS_STATUS_SUCCESS)
        device_fail(device, STATUS_FAILED, "CUDA: %s (%zu,%zu,%zu), %s: %s", cuda_state(device)->op,
                    cuda_state(device)->sizes[0], cuda_state(device)->sizes[1], cuda_state(device)->sizes[2], what,
                    blas->text(status));
    return status == CUBLAS_STATUS_SUCCESS;
}

static bool find_functions(Device *device, CudaBlas *blas) {
    cuda_library_open(device, NAME_OF_LT(CUBLAS_VER_MAJOR)); // that libcublas needs
    void *library = cuda_library_open(device, NAME_OF(CUBLAS_VER_MAJOR));
    const struct {
        const char *name;
        void *function;
    } functions[] = {{"cublasCreate_v2", &blas->create},        {"cublasDestroy_v2", &blas->destroy},
                     {"cublasSetStream_v2", &blas->set_stream}, {"cublasSetWorkspace_v2", &blas->set_workspace},
                     {"cublasGemmEx_64", &blas->gemm},          {"cublasGetStatusString", &blas->text}};
    for (auto &f : functions)
        if (!cuda_library_function(device, library, f.name, static_cast<void **>(f.function))) return false;
    return true;
}

static bool give_workspace(Device *device, CudaBlas *blas) {
    blas->workspace = device->source.allocate(device->source.owner, WORKSPACE);
    if (blas->workspace) device->library_bytes += WORKSPACE;
    else device_no_memory(device, &device->source, WORKSPACE, "the workspace of cuBLAS");
    return blas->workspace &&
           ok(device, blas, blas->set_workspace(blas->handle, blas->workspace, WORKSPACE), "cublasSetWorkspace");
}

static void drop(Device *device, CudaBlas *blas) {
    if (blas && blas->handle) blas->destroy(blas->handle);
    if (blas && blas->workspace) {
        device->source.release(device->source.owner, blas->workspace, WORKSPACE);
        device->library_bytes -= WORKSPACE;
    }
    free(blas);
}

static CudaBlas *blas_of(Device *device) {
    CudaState *state = cuda_state(device);
    if (state->blas) return state->blas;
    CudaBlas *blas = static_cast<CudaBlas *>(calloc(1, sizeof *blas));
    if (!blas) device_fail(device, STATUS_FAILED, "out of memory for cuBLAS");
    else if (find_functions(device, blas) && ok(device, blas, blas->create(&blas->handle), "cublasCreate") &&
             ok(device, blas, blas->set_stream(blas->handle, state->stream), "cublasSetStream") &&
             give_workspace(device, blas))
        return state->blas = blas;
    drop(device, blas);
    return nullptr;
}

// The type to which tensor cores round the factors; CUBLAS_COMPUTE_32F does not round.
static cublasComputeType_t compute_type(Precision precision) {
    switch (precision) {
    case PRECISION_TF32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case PRECISION_BF16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    default: return CUBLAS_COMPUTE_32F;
    }
}

// cuBLAS counts columns first: it is asked for the transposed C' = op(B)' op(A)'.
void CudaMatmulCall::run(Device *device) const {
    const CudaBlas *blas = blas_of(device);
    if (!blas) return;
    const real one = 1;
    auto operation = [](Transpose t) { return t == TRANSPOSED ? CUBLAS_OP_T : CUBLAS_OP_N; };
    auto stride = [](size_t ld) { return static_cast<int64_t>(ld ? ld : 1); };
    ok(device, blas,
       blas->gemm(blas->handle, operation(tb), operation(ta), static_cast<int64_t>(n), static_cast<int64_t>(m),
                  static_cast<int64_t>(k), &one, b, CUDA_R_32F, stride(ldb), a, CUDA_R_32F, stride(lda), &beta, c,
                  CUDA_R_32F, stride(ldc), compute_type(precision), CUBLAS_GEMM_DEFAULT),
       "cublasGemmEx");
}

void cuda_blas_close(Device *device) {
    drop(device, cuda_state(device)->blas);
    cuda_state(device)->blas = nullptr;
}
