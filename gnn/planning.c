// SPDX-License-Identifier: Apache-2.0
#include "gnn/planning.h"

#include "base/check.h"
#include "nn/backend.h"
#include "nn/row_ops.h"

void *planning_temporary(Planning *p, size_t count, size_t size) {
    size_t bytes;
    if (!size_mul(count + 1, size, &bytes)) bytes = SIZE_MAX;
    return device_scratch_bytes(p->device, bytes);
}

int32_t *planning_upload_list(Planning *p, const int32_t *host, size_t count) {
    int32_t *list = planning_temporary(p, count, sizeof *list);
    if (list) p->device->nn->upload(p->device, list, host, count * sizeof *list);
    return list;
}

void planning_gather(Planning *p, size_t count, size_t width, const real *x, const int32_t *index, real scale,
                     real *out, size_t stride, size_t column) {
    if (p->device->failed) return;
    RowGatherArgs args = {count, width, stride, column, x, index, scale, out};
    p->device->nn->row_gather(p->device, &args);
}

PointSet planning_subset(Planning *p, const PointSet *of, const int32_t *list, size_t count) {
    PointSet s = {count, planning_temporary(p, count * 3, sizeof(real)), NULL};
    real *extra = of->extra ? planning_temporary(p, count * p->extra, sizeof(real)) : NULL;
    planning_gather(p, count, 3, of->x, list, 1, (real *)s.x, 3, 0);
    if (extra && p->extra) planning_gather(p, count, p->extra, of->extra, list, 1, extra, p->extra, 0);
    s.extra = extra;
    return s;
}

void planning_index(Planning *p, const PointSet *points, size_t extra, KnnIndex *index) {
    KnnArgs args = {
        .points = points->count, .point = points->x, .extra = extra, .point_extra = extra ? points->extra : NULL};
    if (!p->device->failed && points->count) knn_index(p->device, &p->device->scratch, &args, index);
}

void planning_search(Planning *p, const KnnIndex *index, const PointSet *queries, size_t extra, const int32_t *self,
                     size_t k, int32_t *found, real *distance2) {
    KnnArgs args = {.queries = queries->count,
                    .query = queries->x,
                    .extra = extra,
                    .query_extra = extra ? queries->extra : NULL,
                    .self = self,
                    .k = (int)k,
                    .index = found,
                    .distance2 = distance2};
    if (!p->device->failed && queries->count && k) knn_search(p->device, index, &args);
}
