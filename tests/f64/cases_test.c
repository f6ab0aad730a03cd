// SPDX-License-Identifier: Apache-2.0
// Every case of every op of nn: gradients against central differences in double precision.
#include "bench/case_tables.h"
#include "tests/f64/cases_check.h"

int main(void) { return cases_main(nn_case_tables, nn_case_table_count); }
