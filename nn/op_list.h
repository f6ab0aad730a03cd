// SPDX-License-Identifier: Apache-2.0
// What a folder's list of ops is made into. A list names each op and the struct of its arguments once; the table of
// functions of a back end, their declarations and the tables themselves follow from it:
//
//     #define NN_OPS(OP) OP(linear_forward, LinearArgs) ..
#ifndef VPD_NN_OP_LIST_H
#define VPD_NN_OP_LIST_H

#define OP_STRUCT(op, Args) struct Args;
#define OP_MEMBER(op, Args) void (*op)(Device *, const struct Args *);

// On the CPU (nn/cpu/cpu.h has CPU_FN) and with CUDA: the function, and its entry of the table.
#define OP_CPU(op, Args) void CPU_FN(op)(Device *, const struct Args *);
#define OP_CPU_ENTRY(op, Args) .op = CPU_FN(op),
#define OP_CUDA(op, Args) void op##_cuda(Device *, const struct Args *);
#define OP_CUDA_ENTRY(op, Args) .op = op##_cuda,

#endif
