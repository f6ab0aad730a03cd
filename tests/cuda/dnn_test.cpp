// SPDX-License-Identifier: Apache-2.0
// What nn/cuda/dnn.cu keeps for shapes, with a cuDNN that counts its descriptors and computes nothing. Its functions
// take the place of the stand-in's (tests/cuda_on_cpu/library_dnn.cpp).
#include "nn/cuda/dnn.cu"

#include "nn/cuda/device.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

extern "C" {
#include "tests/test.h"
}

struct cudnnTensorStruct {
    int n, c, h, w;
};
struct cudnnFilterStruct {
    int out, in;
};
struct cudnnConvolutionStruct {
    int math;
};
static int alive, searches, width; // descriptors; lists of algorithms; of the last picture that was convolved

static cudnnStatus_t good(int more = 0) {
    alive += more;
    return CUDNN_STATUS_SUCCESS;
}
template <class T> static cudnnStatus_t make(T **out) { return *out = new T(), good(1); }
template <class T> static cudnnStatus_t destroy(T *old) { return delete old, good(-1); }
template <class T> static cudnnStatus_t one_algorithm(int *count, T *results) {
    *count = 1, searches++;
    *results = {0, CUDNN_STATUS_SUCCESS, 0, CUDNN_DETERMINISTIC, CUDNN_FMA_MATH};
    return good();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *) { return good(); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return good(); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return good(); }
const char *cudnnGetErrorString(cudnnStatus_t) { return "wrong"; }
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *out) { return make(out); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t to, cudnnTensorFormat_t, cudnnDataType_t, int n, int c,
                                         int h, int w) {
    return *to = {n, c, h, w}, good();
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t old) { return destroy(old); }
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *out) { return make(out); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t to, cudnnDataType_t, cudnnTensorFormat_t, int out,
                                         int in, int, int) {
    return *to = {out, in}, good();
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t old) { return destroy(old); }
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *out) { return make(out); }
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t, int, int, int, int, int, int,
                                              cudnnConvolutionMode_t, cudnnDataType_t) {
    return good();
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) { return good(); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t old) { return destroy(old); }
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int,
                                                     int *count, cudnnConvolutionFwdAlgoPerf_t *results) {
    return one_algorithm(count, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                          cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                          cudnnTensorDescriptor_t, int, int *count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t *results) {
    return one_algorithm(count, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                            cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                            cudnnFilterDescriptor_t, int, int *count,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t *results) {
    return one_algorithm(count, results);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void *, cudnnTensorDescriptor_t x, const void *,
                                      cudnnFilterDescriptor_t, const void *, cudnnConvolutionDescriptor_t, int, void *,
                                      size_t, const void *, cudnnTensorDescriptor_t, void *) {
    return width = x->w, good();
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void *, cudnnFilterDescriptor_t, const void *,
                                           cudnnTensorDescriptor_t, const void *, cudnnConvolutionDescriptor_t, int,
                                           void *, size_t, const void *, cudnnTensorDescriptor_t x, void *) {
    return width = x->w, good();
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void *, cudnnTensorDescriptor_t x, const void *,
                                             cudnnTensorDescriptor_t, const void *, cudnnConvolutionDescriptor_t, int,
                                             void *, size_t, const void *, cudnnFilterDescriptor_t, void *) {
    return width = x->w, good();
}

void *cuda_library_open(Device *, const char *) { return &alive; }
bool cuda_library_function(Device *, void *, const char *name, void **function) {
#define ENTRY(f)                                                                                                       \
    if (!strcmp(name, #f)) *function = reinterpret_cast<void *>(&::f);
    FUNCTIONS(ENTRY)
#undef ENTRY
    return *function;
}

static void convolve(Device *device, CudaConvKind kind, size_t w) {
    real number = 0;
    CudaConv conv = {{1, 2, w}, 1, 1};
    CudaConvCall{kind, PRECISION_F32, conv, &number, &number, &number, false, &number}.run(device);
    assert_false(device->failed);
    assert_int_equal(width, w);
}

// All are kept up to the last that there is room for. One more makes them be forgotten: each is then described again,
// also that of a call whose other direction was planned before, and nothing stays behind.
static void shapes_are_forgotten(void **) {
    const int kept = MAX_SHAPES, own = 1, each = 3; // descriptors: the convolution's; of a shape
    Device *device = nullptr;
    Error err = {};
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    for (int round = 0; round < 2; round++)
        for (int w = 1; w <= kept; w++) convolve(device, CudaConvKind::forward, static_cast<size_t>(w));
    assert_int_equal(alive, own + each * kept);
    assert_int_equal(searches, kept);
    convolve(device, CudaConvKind::backward_data, 7);
    convolve(device, CudaConvKind::backward_filter, 7);
    assert_int_equal(searches, kept + 2);
    convolve(device, CudaConvKind::forward, MAX_SHAPES + 1);
    assert_int_equal(alive, own + each);
    convolve(device, CudaConvKind::backward_filter, 7); // known before, and looked for again
    convolve(device, CudaConvKind::forward, MAX_SHAPES + 1);
    assert_int_equal(alive, own + 2 * each);
    assert_int_equal(searches, kept + 4);
    device_close(device);
    assert_int_equal(alive, 0);
}

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(shapes_are_forgotten)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
