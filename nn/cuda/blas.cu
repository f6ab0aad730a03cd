// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/blas.h"

#include "nn/cuda/library.h"

#include <cublas_v2.h>

#define NAME_OF_(number) "libcublas.so." #number
#define NAME_OF(number) NAME_OF_(number)
#define NAME_OF_LT_(number) "libcublasLt.so." #number
#define NAME_OF_LT(number) NAME_OF_LT_(number)

struct CudaBlas {
    cublasHandle_t handle;
    decltype(&cublasCreate_v2) create;
    decltype(&cublasDestroy_v2) destroy;
    decltype(&cublasSetStream_v2) set_stream;
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
    } functions[] = {{"cublasCreate_v2", &blas->create},
                     {"cublasDestroy_v2", &blas->destroy},
                     {"cublasSetStream_v2", &blas->set_stream},
                     {"cublasGemmEx_64", &blas->gemm},
                     {"cublasGetStatusString", &blas->text}};
    for (auto &f : functions)
        if (!cuda_library_function(device, library, f.name, static_cast<void **>(f.function))) return false;
    return true;
}

static CudaBlas *blas_of(Device *device) {
    CudaState *state = cuda_state(device);
    if (state->blas) return state->blas;
    CudaBlas *blas = static_cast<CudaBlas *>(calloc(1, sizeof *blas));
    if (!blas) device_fail(device, STATUS_FAILED, "out of memory for cuBLAS");
    if (blas && find_functions(device, blas) && ok(device, blas, blas->create(&blas->handle), "cublasCreate") &&
        ok(device, blas, blas->set_stream(blas->handle, state->stream), "cublasSetStream"))
        return state->blas = blas;
    free(blas);
    return nullptr;
}

// What factors are rounded to on the way into the tensor cores; CUBLAS_COMPUTE_32F rounds nothing.
static cublasComputeType_t compute_type(Precision precision) {
    switch (precision) {
    case PRECISION_TF32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case PRECISION_BF16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    default: return CUBLAS_COMPUTE_32F;
    }
}

// cuBLAS counts columns first: it is asked for the transposed C' = op(B)' op(A)'.
void cuda_matmul(Device *device, Transpose ta, Transpose tb, size_t m, size_t n, size_t k, const real *a, size_t lda,
                 const real *b, size_t ldb, real beta, real *c, size_t ldc) {
    const CudaBlas *blas = m && n && !device->failed ? blas_of(device) : nullptr;
    if (!blas) return;
    const real one = 1;
    auto operation = [](Transpose t) { return t == TRANSPOSED ? CUBLAS_OP_T : CUBLAS_OP_N; };
    auto stride = [](size_t ld) { return static_cast<int64_t>(ld ? ld : 1); };
    ok(device, blas,
       blas->gemm(blas->handle, operation(tb), operation(ta), static_cast<int64_t>(n), static_cast<int64_t>(m),
                  static_cast<int64_t>(k), &one, b, CUDA_R_32F, stride(ldb), a, CUDA_R_32F, stride(lda), &beta, c,
                  CUDA_R_32F, stride(ldc), compute_type(device->precision), CUBLAS_GEMM_DEFAULT),
       "cublasGemmEx");
}

void cuda_blas_close(Device *device) {
    CudaState *state = cuda_state(device);
    if (state->blas) state->blas->destroy(state->blas->handle);
    free(state->blas);
    state->blas = nullptr;
}
