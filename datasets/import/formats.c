// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/formats.h"

// Layouts that can be told apart by more come first.
const Importer *const importers[] = {&import_hololens, &import_apc, &import_transforms, &import_kubric, NULL};
