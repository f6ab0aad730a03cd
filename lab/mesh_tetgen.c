// SPDX-License-Identifier: Apache-2.0
// TetGen's .node and .ele: a line of counts, then a line for each vertex or tetrahedron. The first vertex is number 0
// or 1.
#include "lab/mesh_text.h"

static Status read_nodes(MeshText *text, Mesh *out, long *first) {
    long count, dimension, number;
    Status status = mesh_text_need_line(text, "the number of vertices");
    if (status == STATUS_OK) status = mesh_text_whole(text, "vertices", 1, MESH_ITEMS_MAX, &count);
    if (status == STATUS_OK) status = mesh_text_whole(text, "dimension", 3, 3, &dimension);
    for (long i = 0; status == STATUS_OK && i < count; i++) {
        double at[3];
        status = mesh_text_need_line(text, "a vertex");
        if (status == STATUS_OK)
            status = mesh_text_whole(text, "number of a vertex", i ? *first + i : 0, i ? *first + i : 1, &number);
        if (status == STATUS_OK && i == 0) *first = number;
        if (status == STATUS_OK) status = mesh_text_numbers(text, "a vertex", 3, at);
        if (status == STATUS_OK) status = mesh_add_vertex(out, at, text->err);
    }
    return status;
}

static Status read_tets(MeshText *text, Mesh *out, long first) {
    long count, corners, number;
    Status status = mesh_text_need_line(text, "the number of tetrahedra");
    if (status == STATUS_OK) status = mesh_text_whole(text, "tetrahedra", 1, MESH_ITEMS_MAX, &count);
    if (status == STATUS_OK) status = mesh_text_whole(text, "corners of a tetrahedron", 4, 10, &corners);
    if (status == STATUS_OK && corners != 4)
        return mesh_text_error(text, "tetrahedra of %ld corners (order 2) are not read, only those of 4", corners);
    out->from_zero = true;
    for (long i = 0; status == STATUS_OK && i < count; i++) {
        int32_t tet[4];
        status = mesh_text_need_line(text, "a tetrahedron");
        if (status == STATUS_OK) status = mesh_text_whole(text, "number of a tetrahedron", 0, MESH_ITEMS_MAX, &number);
        out->place = (int32_t)(status == STATUS_OK ? number + 1 : 0);
        for (int c = 0; status == STATUS_OK && c < 4; c++) {
            status = mesh_text_whole(text, "corner", first, first + (long)out->N - 1, &number);
            tet[c] = (int32_t)(number - first);
        }
        if (status == STATUS_OK) status = mesh_add_tet(out, tet, text->err);
    }
    return status;
}

Status mesh_parse_tetgen(MeshFile node, MeshFile ele, Mesh *out, Error *err) {
    MeshText nodes = mesh_text(node.text, node.size, node.name, err),
             tets = mesh_text(ele.text, ele.size, ele.name, err);
    long first = 0;
    Status status = read_nodes(&nodes, out, &first);
    return status == STATUS_OK ? read_tets(&tets, out, first) : status;
}
