// SPDX-License-Identifier: Apache-2.0
// Gmsh's .msh, versions 2.x and 4.1 in ASCII: sections $Nodes and $Elements. Triangles and tetrahedra with straight
// edges are read; points, lines and elements of other kinds are left out.
#include "lab/mesh_text.h"

#include <stdlib.h>
#include <string.h>

enum { TRIANGLE = 2, TET = 4, TYPES_MAX = 200 }; // Gmsh's numbers of element types
#define TAG_MAX 9000000000000000L

typedef struct Msh {
    MeshText text;
    Mesh *mesh;
    MeshTag *tags; // (N)
    bool blocks;   // version 4.1
    bool has_format, has_nodes;
} Msh;

static Status add_node(Msh *msh, const double at[3], long tag) {
    size_t index = msh->mesh->N;
    Status status = mesh_add_vertex(msh->mesh, at, msh->text.err);
    if (status == STATUS_OK) msh->tags[index] = (MeshTag){tag, (int32_t)index};
    return status;
}

static Status add_element(Msh *msh, long type) {
    int32_t corners[4];
    int count = type == TRIANGLE ? 3 : type == TET ? 4 : 0;
    for (int c = 0; c < count; c++) {
        long tag;
        Status status = mesh_text_whole(&msh->text, "node of an element", 0, TAG_MAX, &tag);
        if (status != STATUS_OK) return status;
        corners[c] = mesh_tags_find(msh->tags, msh->mesh->N, tag);
        if (corners[c] < 0) return mesh_text_error(&msh->text, "the element names node %ld, which is not there", tag);
    }
    if (count == 3) return mesh_add_triangle(msh->mesh, corners, msh->text.err);
    return count == 4 ? mesh_add_tet(msh->mesh, corners, msh->text.err) : STATUS_OK;
}

// ---- version 2: one line "tag x y z" each

static Status read_node(Msh *msh) {
    double at[3];
    long tag;
    Status status = mesh_text_need_line(&msh->text, "a node");
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "tag of a node", 0, TAG_MAX, &tag);
    if (status == STATUS_OK) status = mesh_text_numbers(&msh->text, "a node", 3, at);
    return status == STATUS_OK ? add_node(msh, at, tag) : status;
}

// "tag type tags tag.. nodes"
static Status read_element(Msh *msh) {
    long number, type, tags = 0;
    Status status = mesh_text_need_line(&msh->text, "an element");
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "tag of an element", 0, TAG_MAX, &number);
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "type of an element", 1, TYPES_MAX, &type);
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "number of tags", 0, 64, &tags);
    for (long i = 0; i < tags && status == STATUS_OK; i++)
        status = mesh_text_whole(&msh->text, "tag", -TAG_MAX, TAG_MAX, &number);
    return status == STATUS_OK ? add_element(msh, type) : status;
}

// ---- version 4.1: blocks of one entity, first the tags, then the positions

static Status read_node_block(Msh *msh, long left, long *count) {
    long number;
    Status status = mesh_text_need_line(&msh->text, "a block of nodes");
    for (int i = 0; i < 3 && status == STATUS_OK; i++)
        status = mesh_text_whole(&msh->text, "block of nodes", -TAG_MAX, TAG_MAX, &number);
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "nodes of a block", 0, left, count);
    size_t first = msh->mesh->N;
    for (long i = 0; status == STATUS_OK && i < *count; i++) {
        status = mesh_text_need_line(&msh->text, "the tag of a node");
        if (status == STATUS_OK)
            status = mesh_text_whole(&msh->text, "tag of a node", 0, TAG_MAX, &msh->tags[first + (size_t)i].tag);
    }
    for (long i = 0; status == STATUS_OK && i < *count; i++) {
        double at[3];
        status = mesh_text_need_line(&msh->text, "a node");
        if (status == STATUS_OK) status = mesh_text_numbers(&msh->text, "a node", 3, at);
        if (status == STATUS_OK) status = add_node(msh, at, msh->tags[first + (size_t)i].tag);
    }
    return status;
}

static Status read_element_block(Msh *msh, long left, long *count) {
    long number, type;
    Status status = mesh_text_need_line(&msh->text, "a block of elements");
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = mesh_text_whole(&msh->text, "block of elements", -TAG_MAX, TAG_MAX, &number);
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "type of elements", 1, TYPES_MAX, &type);
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "elements of a block", 0, left, count);
    for (long i = 0; status == STATUS_OK && i < *count; i++) {
        status = mesh_text_need_line(&msh->text, "an element");
        if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "tag of an element", 0, TAG_MAX, &number);
        if (status == STATUS_OK) status = add_element(msh, type);
    }
    return status;
}

// ---- sections

// The line of counts: [blocks] count [smallest tag, largest tag].
static Status read_counts(Msh *msh, const char *what, long *blocks, long *count) {
    *blocks = 0;
    Status status = mesh_text_need_line(&msh->text, what);
    if (status == STATUS_OK && msh->blocks) status = mesh_text_whole(&msh->text, "blocks", 0, MESH_ITEMS_MAX, blocks);
    return status == STATUS_OK ? mesh_text_whole(&msh->text, what, 0, MESH_ITEMS_MAX, count) : status;
}

static Status read_items(Msh *msh, const char *what, Status (*block)(Msh *, long, long *), Status (*item)(Msh *)) {
    long blocks, count, used = 0;
    Status status = read_counts(msh, what, &blocks, &count);
    if (status == STATUS_OK && block == read_node_block) {
        msh->tags = calloc((size_t)count + 1, sizeof *msh->tags);
        if (!msh->tags) return error_set(msh->text.err, STATUS_FAILED, "%s: out of memory", msh->text.name);
    }
    for (long i = 0; status == STATUS_OK && i < blocks; i++) {
        long more = 0;
        status = block(msh, count - used, &more);
        used += more;
    }
    for (long i = 0; status == STATUS_OK && !msh->blocks && i < count; i++) status = item(msh);
    return status;
}

static Status read_nodes(Msh *msh) {
    if (msh->has_nodes) return mesh_text_error(&msh->text, "a second $Nodes");
    msh->has_nodes = true;
    Status status = read_items(msh, "the number of nodes", read_node_block, read_node);
    if (status != STATUS_OK) return status;
    mesh_tags_sort(msh->tags, msh->mesh->N);
    for (size_t i = 1; i < msh->mesh->N; i++)
        if (msh->tags[i].tag == msh->tags[i - 1].tag)
            return mesh_text_error(&msh->text, "two nodes have the tag %ld", msh->tags[i].tag);
    return STATUS_OK;
}

static Status read_format(Msh *msh) {
    double version;
    long binary;
    Status status = mesh_text_need_line(&msh->text, "a version");
    if (status == STATUS_OK) status = mesh_text_numbers(&msh->text, "the version", 1, &version);
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "file type", 0, 1, &binary);
    if (status != STATUS_OK) return status;
    if (binary) return mesh_text_error(&msh->text, "binary .msh files are not read; save it with Mesh.Binary = 0");
    if (!(version >= 2 && version < 3) && version != 4.1)
        return mesh_text_error(
            &msh->text, "expected version 2.x or 4.1, found %g; save it with Mesh.MshFileVersion = 4.1", version);
    msh->blocks = version > 3;
    msh->has_format = true;
    return STATUS_OK;
}

Status mesh_parse_msh(char *bytes, size_t size, const char *name, Mesh *out, Error *err) {
    Msh msh = {.text = mesh_text(bytes, size, name, err), .mesh = out};
    Status status = STATUS_OK;
    while (status == STATUS_OK && mesh_text_line(&msh.text)) {
        const char *word = mesh_text_word(&msh.text);
        bool nodes = word && !strcmp(word, "$Nodes"), elements = word && !strcmp(word, "$Elements");
        if (word && !strcmp(word, "$MeshFormat")) status = read_format(&msh);
        else if ((nodes || elements) && !msh.has_format)
            status = mesh_text_error(&msh.text, "expected $MeshFormat before %s", word);
        else if (elements && !msh.has_nodes) status = mesh_text_error(&msh.text, "expected $Nodes before $Elements");
        else if (nodes) status = read_nodes(&msh);
        else if (elements) status = read_items(&msh, "the number of elements", read_element_block, read_element);
    }
    free(msh.tags);
    return status;
}
