// SPDX-License-Identifier: Apache-2.0
// PLY, ASCII and binary of both byte orders: `vertex` with x, y, z and `face` with vertex_indices; all else is skipped.
#include "lab/mesh_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROPERTIES_MAX = 64, ELEMENTS_MAX = 16, WORD_SIZE = 32 };

// Number types by name: size in bytes, and whether it is signed or a float.
typedef struct Type {
    const char *name, *other;
    int size;
    char kind; // i, u, f
} Type;
static const Type types[] = {{"char", "int8", 1, 'i'},     {"uchar", "uint8", 1, 'u'},   {"short", "int16", 2, 'i'},
                             {"ushort", "uint16", 2, 'u'}, {"int", "int32", 4, 'i'},     {"uint", "uint32", 4, 'u'},
                             {"float", "float32", 4, 'f'}, {"double", "float64", 8, 'f'}};

typedef struct Property {
    char name[WORD_SIZE];
    const Type *type, *length; // length: of a list; NULL: one number
} Property;

typedef struct Element {
    char name[WORD_SIZE];
    size_t count;
    int properties;
    Property property[PROPERTIES_MAX];
} Element;

typedef struct Ply {
    MeshText text;
    bool ascii, big;
    int elements;
    Element element[ELEMENTS_MAX];
    Mesh *mesh;
} Ply;

// ---- header

static const Type *find_type(const char *word) {
    for (size_t i = 0; word && i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, word) || !strcmp(types[i].other, word)) return types + i;
    return NULL;
}

static Status read_name(Ply *ply, char out[WORD_SIZE]) {
    const char *word = mesh_text_word(&ply->text);
    if (!word || strlen(word) >= WORD_SIZE) return mesh_text_error(&ply->text, "expected a name of 1 to 31 bytes");
    memcpy(out, word, strlen(word) + 1);
    return STATUS_OK;
}

static Status read_element(Ply *ply) {
    long count;
    if (ply->elements == ELEMENTS_MAX) return mesh_text_error(&ply->text, "more than %d elements", ELEMENTS_MAX);
    Element *element = ply->element + ply->elements++;
    Status status = read_name(ply, element->name);
    if (status == STATUS_OK) status = mesh_text_whole(&ply->text, element->name, 0, MESH_ITEMS_MAX, &count);
    if (status == STATUS_OK) element->count = (size_t)count;
    return status;
}

static Status read_property(Ply *ply) {
    Element *element = ply->elements ? ply->element + ply->elements - 1 : NULL;
    const char *word = mesh_text_word(&ply->text);
    if (!element || element->properties == PROPERTIES_MAX)
        return mesh_text_error(&ply->text, element ? "more than 64 properties" : "a property before an element");
    Property *property = element->property + element->properties++;
    bool list = word && !strcmp(word, "list");
    if (list) {
        property->length = find_type(mesh_text_word(&ply->text));
        word = mesh_text_word(&ply->text);
    }
    property->type = find_type(word);
    if (!property->type || (list && (!property->length || property->length->kind == 'f')))
        return mesh_text_error(&ply->text,
                               "expected a property such as \"float x\" or \"list uchar int vertex_indices\"");
    return read_name(ply, property->name);
}

static Status read_format(Ply *ply) {
    const char *word = mesh_text_word(&ply->text);
    ply->ascii = word && !strcmp(word, "ascii");
    ply->big = word && !strcmp(word, "binary_big_endian");
    if (ply->ascii || ply->big || (word && !strcmp(word, "binary_little_endian"))) return STATUS_OK;
    return mesh_text_error(&ply->text, "expected the format ascii, binary_little_endian or binary_big_endian");
}

static Status read_header(Ply *ply) {
    bool format = false;
    const char *word = mesh_text_line(&ply->text) ? mesh_text_word(&ply->text) : NULL;
    if (!word || strcmp(word, "ply") != 0)
        return error_set(ply->text.err, STATUS_BAD_INPUT, "%s: expected a PLY file, which begins with \"ply\"",
                         ply->text.name);
    for (;;) {
        Status status = mesh_text_need_line(&ply->text, "end_header");
        if (status != STATUS_OK) return status;
        word = mesh_text_word(&ply->text);
        if (!word) continue;
        if (!strcmp(word, "end_header")) break;
        if (!strcmp(word, "format")) {
            status = read_format(ply);
            format = true;
        } else if (!strcmp(word, "element")) status = read_element(ply);
        else if (!strcmp(word, "property")) status = read_property(ply);
        if (status != STATUS_OK) return status;
    }
    return format ? STATUS_OK : mesh_text_error(&ply->text, "the header names no format");
}

// ---- numbers

static double decode(const unsigned char *bytes, const Type *type) {
    uint64_t bits = 0;
    for (int i = 0; i < type->size; i++) bits |= (uint64_t)bytes[i] << 8 * i;
    float narrow;
    double wide;
    uint32_t low = (uint32_t)bits;
    if (type->kind == 'f' && type->size == 4) {
        memcpy(&narrow, &low, sizeof narrow);
        return (double)narrow;
    }
    memcpy(&wide, &bits, sizeof wide);
    if (type->kind == 'f') return wide;
    double number = (double)bits, range = ldexp(1, 8 * type->size);
    return type->kind == 'i' && number >= range / 2 ? number - range : number;
}

static Status read_binary(Ply *ply, const Type *type, double *out) {
    unsigned char bytes[8];
    if (ply->text.end - ply->text.next < type->size)
        return error_set(ply->text.err, STATUS_BAD_INPUT, "%s: the file ends before its last element", ply->text.name);
    for (int i = 0; i < type->size; i++) bytes[ply->big ? type->size - 1 - i : i] = (unsigned char)ply->text.next[i];
    ply->text.next += type->size;
    *out = decode(bytes, type);
    return STATUS_OK;
}

static Status read_number(Ply *ply, const Type *type, double *out) {
    return ply->ascii ? mesh_text_numbers(&ply->text, "an element", 1, out) : read_binary(ply, type, out);
}

// ---- elements; `at` counts them, for messages of binary files

static Status wrong(const Ply *ply, const char *name, size_t at, const char *what) {
    if (ply->ascii) return mesh_text_error(&ply->text, "%s: %s", name, what);
    return error_set(ply->text.err, STATUS_BAD_INPUT, "%s: %s %zu: %s", ply->text.name, name, at + 1, what);
}

static Status add_face(Ply *ply, size_t at, const double *corners, int count) {
    int32_t index[MESH_CORNERS_MAX], triangles[MESH_CORNERS_MAX][3];
    if (count < 3) return wrong(ply, "face", at, "expected at least 3 corners");
    for (int i = 0; i < count; i++) {
        if (!(corners[i] >= 0 && corners[i] < (double)ply->mesh->N) || corners[i] != floor(corners[i]))
            return wrong(ply, "face", at,
                         ply->mesh->N ? "it names a vertex that is not there"
                                      : "expected the element vertex before the element face");
        index[i] = (int32_t)corners[i];
    }
    Status status = STATUS_OK;
    ply->mesh->lines = ply->ascii;
    ply->mesh->place = (int32_t)(ply->ascii ? ply->text.line : at + 1);
    if (!mesh_polygon(ply->mesh, index, count, triangles))
        return wrong(ply, "face", at, "it is flat, its corners coincide or its sides cross");
    for (int i = 0; i < count - 2 && status == STATUS_OK; i++)
        status = mesh_add_triangle(ply->mesh, triangles[i], ply->text.err);
    return status;
}

static Status read_list(Ply *ply, const Property *property, bool face, size_t at) {
    double length = 0, values[MESH_CORNERS_MAX];
    Status status = read_number(ply, property->length, &length);
    if (status == STATUS_OK && (!(length >= 0 && length <= MESH_CORNERS_MAX) || length != floor(length)))
        return wrong(ply, property->name, at, "expected a list of at most 64 numbers");
    for (int i = 0; status == STATUS_OK && i < (int)length; i++) status = read_number(ply, property->type, values + i);
    bool corners = !strcmp(property->name, "vertex_indices") || !strcmp(property->name, "vertex_index");
    return status == STATUS_OK && face && corners ? add_face(ply, at, values, (int)length) : status;
}

static Status read_one(Ply *ply, const Element *element, size_t at) {
    bool vertex = !strcmp(element->name, "vertex"), face = !strcmp(element->name, "face");
    double position[3] = {NAN, NAN, NAN}, value = 0;
    Status status = ply->ascii ? mesh_text_need_line(&ply->text, element->name) : STATUS_OK;
    for (int p = 0; p < element->properties && status == STATUS_OK; p++) {
        const Property *property = element->property + p;
        if (property->length) status = read_list(ply, property, face, at);
        else {
            status = read_number(ply, property->type, &value);
            if (property->name[0] >= 'x' && property->name[0] <= 'z' && !property->name[1])
                position[property->name[0] - 'x'] = value;
        }
    }
    if (status != STATUS_OK || !vertex) return status;
    if (!isfinite(position[0]) || !isfinite(position[1]) || !isfinite(position[2]))
        return wrong(ply, "vertex", at, "expected finite x, y and z");
    return mesh_add_vertex(ply->mesh, position, ply->text.err);
}

Status mesh_parse_ply(char *bytes, size_t size, const char *name, Mesh *out, Error *err) {
    Ply ply = {.text = mesh_text(bytes, size, name, err), .mesh = out};
    Status status = read_header(&ply);
    for (int e = 0; e < ply.elements && status == STATUS_OK; e++) {
        if (ply.element[e].properties == 0 && ply.element[e].count)
            status = error_set(err, STATUS_BAD_INPUT, "%s: element %s has no properties", name, ply.element[e].name);
        for (size_t i = 0; i < ply.element[e].count && status == STATUS_OK; i++)
            status = read_one(&ply, ply.element + e, i);
    }
    return status;
}
