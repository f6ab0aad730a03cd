// SPDX-License-Identifier: Apache-2.0
// Every case of the renderer's ops: gradients against central differences in double precision.
#include "bench/case_tables.h"
#include "tests/f64/cases_check.h"

int main(void) { return cases_main(renderer_case_tables, renderer_case_table_count); }
