// SPDX-License-Identifier: Apache-2.0
#include "bench/case_tables.h"

extern const OpCases silu_cases, columns_cases, combine_cases, conv2d_cases, group_norm_cases, image_ops_cases,
    linear_cases, reduce_cases, rows_cases, ssim_loss_cases;
extern const OpCases advance_cases, edge_geometry_cases, message_cases;
extern const OpCases composite_cases, shade_cases;

const OpCases *const nn_case_tables[] = {&linear_cases, &conv2d_cases,   &group_norm_cases, &image_ops_cases,
                                         &silu_cases,   &combine_cases,  &columns_cases,    &rows_cases,
                                         &reduce_cases, &ssim_loss_cases};
const OpCases *const gnn_case_tables[] = {&message_cases, &edge_geometry_cases, &advance_cases};
const OpCases *const renderer_case_tables[] = {&shade_cases, &composite_cases};

const size_t nn_case_table_count = sizeof nn_case_tables / sizeof *nn_case_tables;
const size_t gnn_case_table_count = sizeof gnn_case_tables / sizeof *gnn_case_tables;
const size_t renderer_case_table_count = sizeof renderer_case_tables / sizeof *renderer_case_tables;
