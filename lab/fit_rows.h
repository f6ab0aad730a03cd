// SPDX-License-Identifier: Apache-2.0
// Numbers of the section `values` of a scene, by name: "values.ball.mass.3". Used by lab/fit_free.c alone.
#ifndef VPD_LAB_FIT_ROWS_H
#define VPD_LAB_FIT_ROWS_H

#include "base/yaml.h"
#include "lab/fit_free.h"

bool fit_rows_named(const char *name); // it begins as those do
// Whether it names a list, or a number of one, that the scene may have; `list` gets the list's own name.
bool fit_rows_list(const SimScene *scene, const char *name, char list[FIT_NAME_SIZE]);
// Fills in value, entry, entries and apart of a variable whose list has so many rows.
void fit_rows_find(const SimScene *scene, size_t list_rows, FitVariable *variable);
// Adds the lists of these names to a text, with the numbers of the scene, as a section `values` at its end.
Status fit_rows_add(const SimScene *scene, const char *const *names, size_t count, const char *path, char **text,
                    size_t *length, Error *err);
// Adds the list of one name to the section `values` that the text has.
Status fit_rows_insert(const SimScene *scene, const char *name, const YamlNode *values, const char *path, char **text,
                       size_t *length, Error *err);

#endif
