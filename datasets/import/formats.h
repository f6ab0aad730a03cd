// SPDX-License-Identifier: Apache-2.0
// The importers by name, for formats.c alone.
#ifndef VPD_DATASETS_IMPORT_FORMATS_H
#define VPD_DATASETS_IMPORT_FORMATS_H

#include "datasets/import/import.h"

extern const Importer import_hololens, import_apc, import_transforms, import_kubric;

#endif
