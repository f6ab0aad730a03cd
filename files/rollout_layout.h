// SPDX-License-Identifier: Apache-2.0
// Layout of the arrays of one input set in a rollout file, shared by reader and writer alone.
#ifndef VPD_FILES_ROLLOUT_LAYOUT_H
#define VPD_FILES_ROLLOUT_LAYOUT_H

#include "datasets/h5.h"
#include "files/rollout_file.h"

typedef struct SetArray {
    const char *name, *letters;
    H5Kind kind;
    size_t pointer; // offset in RolloutSet
    size_t width;   // 1: rank 1; 0: D columns
    bool required;
    enum { IN_ALL_SETS, IN_PAST_SETS, IN_PRESENT_SET, IN_NO_FILE } where;
} SetArray;

#define SET_AT(field) offsetof(RolloutSet, field)
static const SetArray SET_ARRAYS[] = {
    {"positions", "N,3", H5_F32, SET_AT(positions), 3, true, IN_ALL_SETS},
    {"features", "N,D", H5_F32, SET_AT(features), 0, false, IN_ALL_SETS},
    {"colour", "N,3", H5_U8, SET_AT(colour), 3, false, IN_ALL_SETS},
    {"labels", "N", H5_U16, SET_AT(labels), 1, false, IN_ALL_SETS},
    {"ties", "N", H5_U32, SET_AT(ties), 1, false, IN_PAST_SETS},
    {"radius", "N", H5_F32, SET_AT(radius), 1, false, IN_PRESENT_SET},
    {"before", "N,3", H5_F32, SET_AT(before), 3, false, IN_PRESENT_SET},
    {"body", "N", H5_I32, SET_AT(body), 1, false, IN_PRESENT_SET},
    {"moving", "N", H5_U8, SET_AT(moving), 1, false, IN_NO_FILE},
    {"shown", "N,2", H5_F64, SET_AT(shown), 2, false, IN_NO_FILE},
};
#undef SET_AT
enum { SET_ARRAY_COUNT = sizeof SET_ARRAYS / sizeof SET_ARRAYS[0] };

static inline void **set_pointer(RolloutSet *set, const SetArray *array) {
    return (void **)((char *)set + array->pointer);
}

// Whether files hold this array in input set `index`.
static inline bool set_has_array(int index, const SetArray *array) {
    return array->where != IN_NO_FILE && array->where != (index == 0 ? IN_PAST_SETS : IN_PRESENT_SET);
}

static const char *const SET_NAMES[ROLLOUT_SETS_MAX] = {"now",    "past",   "past_2", "past_3",
                                                        "past_4", "past_5", "past_6", "past_7"};

bool rollout_has_ties(const RolloutFile *rollout);
// Hash of the positions of all sets, for which ties are valid.
void rollout_hash_places(const RolloutFile *rollout, char out[32]);

#endif
