// SPDX-License-Identifier: Apache-2.0
// Every case of gnn's ops: gradients against central differences in double precision.
#include "bench/case_tables.h"
#include "tests/f64/cases_check.h"

int main(void) { return cases_main(gnn_case_tables, gnn_case_table_count); }
