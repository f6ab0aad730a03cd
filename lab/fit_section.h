// SPDX-License-Identifier: Apache-2.0
// The sections `fit` and `random` of a scene file. Used by lab/fit_free.c alone.
#ifndef VPD_LAB_FIT_SECTION_H
#define VPD_LAB_FIT_SECTION_H

#include "base/arguments.h"

#include <stdint.h>

typedef struct FitSection {
    const YamlNode *list; // of entries: `free`, or those of `random`; NULL: none
    uint32_t compare;     // bits of kinds (lab/fit_free.h); 0: not said
} FitSection;

typedef struct FitEntry {
    const YamlNode *node; // NULL: of the command line
    const char *name;
    double low, high, start;
    bool has_low, has_high, has_start;
} FitEntry;

Status fit_section_read(const ArgumentReader *reader, const YamlNode *root, FitSection *out);
Status random_section_read(const ArgumentReader *reader, const YamlNode *root, FitSection *out);
// An entry of the list, a name or a name with its start and bounds; `random`: with its bounds alone.
Status fit_entry_read(const ArgumentReader *reader, const YamlNode *node, bool random, FitEntry *out);

#endif
