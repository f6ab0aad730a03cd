// SPDX-License-Identifier: Apache-2.0
// Data sets and reports about them as JSON, for `--json` and for the library. docs/library.md names the keys.
#ifndef VPD_DATASETS_JSON_H
#define VPD_DATASETS_JSON_H

#include "base/json.h"
#include "datasets/check.h"
#include "datasets/import/import.h"

// All of a report. NULL when memory ran out or a name is no UTF-8.
json_t *check_report_json(const Dataset *dataset, const CheckReport *report);

// A data set that was written at `path`: {"written":[path],"episodes","frames","images","splits"}. It is opened for
// this.
Status dataset_written_json(const char *path, json_t **out, Error *err);

// Adds what an import left out to `object`: "moments_left_out", "pictures_left_out".
Status import_left_out_json(const ImportLeftOut *left_out, json_t *object, Error *err);

// Adds the pictures that an import left out to `object`: "skipped", a list of sentences.
Status import_skipped_json(const ImportReport *report, json_t *object, Error *err);

#endif
