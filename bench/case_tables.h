// SPDX-License-Identifier: Apache-2.0
// The case tables of all ops (nn/cases.h), by folder.
#ifndef VPD_BENCH_CASE_TABLES_H
#define VPD_BENCH_CASE_TABLES_H

#include "nn/cases.h"

extern const OpCases *const nn_case_tables[], *const gnn_case_tables[], *const renderer_case_tables[];
extern const size_t nn_case_table_count, gnn_case_table_count, renderer_case_table_count;

#endif
