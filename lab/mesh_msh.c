// SPDX-License-Identifier: Apache-2.0
// Gmsh's .msh, versions 2.x and 4.1, in ASCII or binary (little-endian): sections $Nodes and $Elements. Triangles and
// tetrahedra with straight edges are read; points, lines and, beside tetrahedra, surfaces are left out. Other elements
// are errors.
#include "lab/mesh_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIANGLE = 2, QUADRANGLE = 3, TET = 4, ORDER_2 = 8, TYPES_MAX = 200 }; // Gmsh's numbers of element types
#define TAG_MAX 9000000000000000L

typedef struct Msh {
    MeshText text;
    Mesh *mesh;
    MeshTag *tags; // (N)
    bool blocks;   // version 4.1
    bool binary;
    bool has_format, has_nodes;
    long other;        // type of the first surface element that is not read, 0: none
    size_t other_line; // where it stands
} Msh;

// ---- numbers: words of a line, or bytes

enum { INT = 4, SIZE = 8 }; // bytes

static Status need_line(Msh *msh, const char *what) {
    return msh->binary ? STATUS_OK : mesh_text_need_line(&msh->text, what);
}

static Status take_bytes(Msh *msh, const char *what, size_t bytes, uint64_t *out) {
    *out = 0;
    if ((size_t)(msh->text.end - msh->text.next) < bytes)
        return mesh_text_error(&msh->text, "expected %s, found the end of the file", what);
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)(unsigned char)msh->text.next[i] << 8 * i;
    msh->text.next += bytes;
    return STATUS_OK;
}

static Status whole(Msh *msh, const char *what, size_t bytes, long min, long max, long *out) {
    uint64_t bits;
    if (!msh->binary) return mesh_text_whole(&msh->text, what, min, max, out);
    Status status = take_bytes(msh, what, bytes, &bits);
    if (status != STATUS_OK) return status;
    *out = bytes == INT ? (int32_t)(uint32_t)bits : (long)bits;
    if (*out >= min && *out <= max) return STATUS_OK;
    return mesh_text_error(&msh->text, "%s: expected a whole number from %ld to %ld, found %ld", what, min, max, *out);
}

static Status numbers(Msh *msh, const char *what, int count, double *out) {
    if (!msh->binary) return mesh_text_numbers(&msh->text, what, count, out);
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        Status status = take_bytes(msh, what, sizeof bits, &bits);
        if (status != STATUS_OK) return status;
        memcpy(out + i, &bits, sizeof bits);
        if (!isfinite(out[i])) return mesh_text_error(&msh->text, "expected finite numbers of %s", what);
    }
    return STATUS_OK;
}

// ---- nodes and elements

static Status add_node(Msh *msh, const double at[3], long tag) {
    size_t index = msh->mesh->N;
    Status status = mesh_add_vertex(msh->mesh, at, msh->text.err);
    if (status == STATUS_OK) msh->tags[index] = (MeshTag){tag, (int32_t)index};
    return status;
}

// Nodes of Gmsh's element types from 0 (none); what a line of ASCII holds beside them need not be known.
static const unsigned char type_nodes[] = {0, 2,  3,  4,  4, 8,  6,  5,  3,  6,  9, 10, 27, 18, 14, 1,
                                           8, 20, 15, 13, 9, 10, 12, 15, 15, 21, 4, 5,  6,  20, 35, 56};

static const unsigned char type_dimension[] = {0, 1, 2, 2, 3, 3, 3, 3, 1, 2, 2, 3, 3, 3, 3, 0,
                                               2, 3, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 3, 3, 3};

static Status refuse_type(const Msh *msh, long type) {
    if (type >= ORDER_2)
        return mesh_text_error(&msh->text,
                               "elements of order 2 and above (type %ld) are not read; save it with "
                               "Mesh.ElementOrder = 1",
                               type);
    return mesh_text_error(&msh->text, "%s (type %ld) are not read, only triangles and tetrahedra",
                           type == QUADRANGLE ? "quadrangles" : "hexahedra, prisms and pyramids", type);
}

static Status skip_element(Msh *msh, long type) {
    long tag;
    if (type >= (long)sizeof type_nodes || type_dimension[type] == 3) return refuse_type(msh, type);
    if (type_dimension[type] == 2 && !msh->other) {
        msh->other = type;
        msh->other_line = msh->text.line;
    }
    if (!msh->binary) return STATUS_OK;
    for (int i = 0; i < type_nodes[type]; i++) {
        Status status = whole(msh, "node of an element", msh->blocks ? SIZE : INT, 0, TAG_MAX, &tag);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

static Status add_element(Msh *msh, long type, long number) {
    int32_t corners[4];
    msh->mesh->lines = !msh->binary;
    msh->mesh->place = msh->binary ? (int32_t)(number <= INT32_MAX ? number : 0) : (int32_t)msh->text.line;
    int count = type == TRIANGLE ? 3 : type == TET ? 4 : 0;
    if (!count) return skip_element(msh, type);
    for (int c = 0; c < count; c++) {
        long tag;
        Status status = whole(msh, "node of an element", msh->blocks ? SIZE : INT, 0, TAG_MAX, &tag);
        if (status != STATUS_OK) return status;
        corners[c] = mesh_tags_find(msh->tags, msh->mesh->N, tag);
        if (corners[c] < 0)
            return mesh_text_error(&msh->text, "element %ld names node %ld, which is not there", number, tag);
    }
    if (count == 3) return mesh_add_triangle(msh->mesh, corners, msh->text.err);
    return mesh_add_tet(msh->mesh, corners, msh->text.err);
}

// ---- version 2: "tag x y z" each, a line in ASCII

static Status read_node(Msh *msh) {
    double at[3];
    long tag;
    Status status = need_line(msh, "a node");
    if (status == STATUS_OK) status = whole(msh, "tag of a node", INT, 0, TAG_MAX, &tag);
    if (status == STATUS_OK) status = numbers(msh, "a node", 3, at);
    return status == STATUS_OK ? add_node(msh, at, tag) : status;
}

// "tag type tags tag.. nodes"
static Status read_element(Msh *msh) {
    long number, type, tags = 0, tag;
    Status status = need_line(msh, "an element");
    if (status == STATUS_OK) status = whole(msh, "tag of an element", INT, 0, TAG_MAX, &number);
    if (status == STATUS_OK) status = whole(msh, "type of an element", INT, 1, TYPES_MAX, &type);
    if (status == STATUS_OK) status = whole(msh, "number of tags", INT, 0, 64, &tags);
    for (long i = 0; i < tags && status == STATUS_OK; i++) status = whole(msh, "tag", INT, -TAG_MAX, TAG_MAX, &tag);
    return status == STATUS_OK ? add_element(msh, type, number) : status;
}

// Of a binary file: "type elements tags", then "tag tags.. nodes" of each.
static Status read_element_group(Msh *msh, long left, long *count) {
    long number, type, tags, tag;
    Status status = whole(msh, "type of elements", INT, 1, TYPES_MAX, &type);
    if (status == STATUS_OK) status = whole(msh, "elements of a group", INT, 1, left, count);
    if (status == STATUS_OK) status = whole(msh, "number of tags", INT, 0, 64, &tags);
    for (long i = 0; status == STATUS_OK && i < *count; i++) {
        status = whole(msh, "tag of an element", INT, 0, TAG_MAX, &number);
        for (long k = 0; k < tags && status == STATUS_OK; k++) status = whole(msh, "tag", INT, -TAG_MAX, TAG_MAX, &tag);
        if (status == STATUS_OK) status = add_element(msh, type, number);
    }
    return status;
}

// ---- version 4.1: blocks of one entity, first the tags, then the positions

static Status read_node_block(Msh *msh, long left, long *count) {
    long number;
    Status status = need_line(msh, "a block of nodes");
    for (int i = 0; i < 3 && status == STATUS_OK; i++)
        status = whole(msh, "block of nodes", INT, -TAG_MAX, TAG_MAX, &number);
    if (status == STATUS_OK && msh->binary && number)
        return mesh_text_error(&msh->text, "nodes with parameters are not read; save it with Mesh.SaveParametric = 0");
    if (status == STATUS_OK) status = whole(msh, "nodes of a block", SIZE, 0, left, count);
    size_t first = msh->mesh->N;
    for (long i = 0; status == STATUS_OK && i < *count; i++) {
        status = need_line(msh, "the tag of a node");
        if (status == STATUS_OK)
            status = whole(msh, "tag of a node", SIZE, 0, TAG_MAX, &msh->tags[first + (size_t)i].tag);
    }
    for (long i = 0; status == STATUS_OK && i < *count; i++) {
        double at[3];
        status = need_line(msh, "a node");
        if (status == STATUS_OK) status = numbers(msh, "a node", 3, at);
        if (status == STATUS_OK) status = add_node(msh, at, msh->tags[first + (size_t)i].tag);
    }
    return status;
}

static Status read_element_block(Msh *msh, long left, long *count) {
    long number, type;
    Status status = need_line(msh, "a block of elements");
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = whole(msh, "block of elements", INT, -TAG_MAX, TAG_MAX, &number);
    if (status == STATUS_OK) status = whole(msh, "type of elements", INT, 1, TYPES_MAX, &type);
    if (status == STATUS_OK) status = whole(msh, "elements of a block", SIZE, 0, left, count);
    for (long i = 0; status == STATUS_OK && i < *count; i++) {
        status = need_line(msh, "an element");
        if (status == STATUS_OK) status = whole(msh, "tag of an element", SIZE, 0, TAG_MAX, &number);
        if (status == STATUS_OK) status = add_element(msh, type, number);
    }
    return status;
}

// ---- sections

// Counts: [blocks] count [smallest tag, largest tag]. In binary files of version 2 they are a line too.
static Status read_counts(Msh *msh, const char *what, long *blocks, long *count) {
    const bool binary = msh->binary;
    long tag;
    *blocks = 0;
    msh->binary = binary && msh->blocks;
    Status status = need_line(msh, what);
    if (status == STATUS_OK && msh->blocks) status = whole(msh, "blocks", SIZE, 0, MESH_ITEMS_MAX, blocks);
    if (status == STATUS_OK) status = whole(msh, what, SIZE, 0, MESH_ITEMS_MAX, count);
    for (int i = 0; i < 2 && status == STATUS_OK && msh->binary; i++)
        status = whole(msh, "tag", SIZE, -TAG_MAX, TAG_MAX, &tag);
    msh->binary = binary;
    if (status == STATUS_OK && binary && *count > (msh->text.end - msh->text.next) / INT)
        status = mesh_text_error(&msh->text, "%s is %ld, and the file ends before that", what, *count);
    return status;
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
    while (status == STATUS_OK && msh->binary && !msh->blocks && block == read_element_block && used < count) {
        long more = 0;
        status = read_element_group(msh, count - used, &more);
        used += more;
    }
    for (long i = used; status == STATUS_OK && !msh->blocks && i < count; i++) status = item(msh);
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

// Behind the format of a binary file: bytes of a number, and a 1 in the machine's order of bytes.
static Status read_marker(Msh *msh) {
    uint64_t one;
    long bytes;
    Status status = mesh_text_whole(&msh->text, "bytes of a number", 1, 64, &bytes);
    if (status == STATUS_OK) status = take_bytes(msh, "the number 1 behind the version", INT, &one);
    if (status != STATUS_OK) return status;
    if (one == 0x01000000)
        return mesh_text_error(&msh->text, "big-endian binary files are not read; save it with Mesh.Binary = 0");
    if (one != 1 || bytes != SIZE)
        return mesh_text_error(&msh->text, "expected numbers of 8 bytes and a 1 behind the version of a binary file");
    msh->binary = true;
    return STATUS_OK;
}

static Status read_format(Msh *msh) {
    double version;
    long binary;
    Status status = mesh_text_need_line(&msh->text, "a version");
    if (status == STATUS_OK) status = mesh_text_numbers(&msh->text, "the version", 1, &version);
    if (status == STATUS_OK) status = mesh_text_whole(&msh->text, "file type", 0, 1, &binary);
    if (status != STATUS_OK) return status;
    if (!(version >= 2 && version < 3) && version != 4.1)
        return mesh_text_error(
            &msh->text, "expected version 2.x or 4.1, found %g; save it with Mesh.MshFileVersion = 4.1", version);
    msh->blocks = version > 3;
    msh->has_format = true;
    return binary ? read_marker(msh) : STATUS_OK;
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
    if (status != STATUS_OK || !msh.other || out->T) return status;
    msh.text.line = msh.other_line;
    return refuse_type(&msh, msh.other);
}
