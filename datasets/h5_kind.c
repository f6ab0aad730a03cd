// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5_private.h"

#include <stdio.h>

typedef struct KindRow {
    H5Kind kind;
    const char *name;
    size_t bytes;
} KindRow;

static const KindRow KINDS[] = {
    {H5_U8, "u8", 1},   {H5_U16, "u16", 2}, {H5_U32, "u32", 4}, {H5_U64, "u64", 8},
    {H5_I8, "i8", 1},   {H5_I16, "i16", 2}, {H5_I32, "i32", 4}, {H5_I64, "i64", 8},
    {H5_F16, "f16", 2}, {H5_F32, "f32", 4}, {H5_F64, "f64", 8},
};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

size_t h5_kind_bytes(H5Kind kind) {
    for (int i = 0; i < KIND_COUNT; i++) {
        if (KINDS[i].kind == kind) return KINDS[i].bytes;
    }
    return 0;
}

const char *h5_kind_name(H5Kind kind) {
    for (int i = 0; i < KIND_COUNT; i++) {
        if (KINDS[i].kind == kind) return KINDS[i].name;
    }
    return "another type";
}

hid_t h5_kind_memory_type(H5Kind kind) {
    switch (kind) {
    case H5_U8: return H5T_NATIVE_UINT8;
    case H5_U16: return H5T_NATIVE_UINT16;
    case H5_U32: return H5T_NATIVE_UINT32;
    case H5_U64: return H5T_NATIVE_UINT64;
    case H5_I8: return H5T_NATIVE_INT8;
    case H5_I16: return H5T_NATIVE_INT16;
    case H5_I32: return H5T_NATIVE_INT32;
    case H5_I64: return H5T_NATIVE_INT64;
    case H5_F32: return H5T_NATIVE_FLOAT;
    case H5_F64: return H5T_NATIVE_DOUBLE;
    default: return H5I_INVALID_HID;
    }
}

static H5Kind integer_kind(hid_t type, size_t bytes) {
    bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    for (int i = 0; i < KIND_COUNT; i++) {
        bool row_signed = KINDS[i].kind & (H5_I8 | H5_I16 | H5_I32 | H5_I64);
        if (KINDS[i].bytes == bytes && (KINDS[i].kind & H5_INTEGERS) && row_signed == is_signed) return KINDS[i].kind;
    }
    return 0;
}

H5Kind h5_kind_of(hid_t type) {
    size_t bytes = H5Tget_size(type);
    H5T_order_t order = H5Tget_order(type);
    // Unusual precisions, offsets and paddings are refused.
    if (bytes > 8 || H5Tget_precision(type) != 8 * bytes || H5Tget_offset(type) != 0) return 0;
    if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return 0;
    if (H5Tget_class(type) == H5T_INTEGER) return integer_kind(type, bytes);
    if (H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0) return H5_F32;
    if (H5Tequal(type, H5T_IEEE_F64LE) > 0 || H5Tequal(type, H5T_IEEE_F64BE) > 0) return H5_F64;
    size_t sign, exponent, exponent_size, mantissa, mantissa_size;
    if (bytes == 2 && H5Tget_class(type) == H5T_FLOAT &&
        H5Tget_fields(type, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) >= 0 && exponent_size == 5 &&
        mantissa_size == 10)
        return H5_F16;
    return 0;
}

void h5_kinds_text(unsigned kinds, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < KIND_COUNT && used < size; i++) {
        if (kinds & KINDS[i].kind)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " or " : "", KINDS[i].name);
    }
}
