// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5_write.h"
#include "tests/fuzz/hostile_private.h"

#include <math.h>
#include <string.h>

// ---- odd values, types, names

static double odd_value(uint8_t which) {
    const double values[] = {0, -1, NAN, INFINITY, 1e30, 255, 65535, 2147483647, 1e-30, 0.5, 1, 2, -0.5, 1e300, 1e15};
    return values[which % (sizeof values / sizeof *values)];
}

// A link's name: of any kind that HDF5 takes.
static const char *odd_name(uint8_t which, char out[256]) {
    static const char *const names[] = {"a\nb",   "\x1b[31mred", "..",    " ",      "%s%n",
                                        "000002", "\xff\xfe",    "q\t\r", "demo_7", "encoder.x"};
    enum { COUNT = sizeof names / sizeof *names };
    if (which % (COUNT + 1) < COUNT) return names[which % (COUNT + 1)];
    memset(out, 'x', 255);
    out[which < 64 ? 95 : 255 - which / 8] = 0;
    return out;
}

static hid_t sized(hid_t type, size_t size) {
    hid_t copy = H5Tcopy(type);
    H5Tset_size(copy, size);
    return copy;
}

static hid_t half_type(void) {
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

static hid_t plain_type(uint8_t which) {
    static const H5Kind kinds[] = {H5_U8, H5_U16, H5_I32, H5_I64, H5_F32, H5_F64, H5_U32, H5_U64, H5_I8, H5_I16};
    return H5Tcopy(h5_kind_memory_type(kinds[which % (sizeof kinds / sizeof *kinds)]));
}

static hid_t narrow_type(uint8_t precision) {
    hid_t type = H5Tcopy(H5T_STD_U16LE);
    H5Tset_precision(type, 1 + precision % 15);
    return type;
}

static hid_t big_endian(hid_t type) {
    if (H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_FLOAT) H5Tset_order(type, H5T_ORDER_BE);
    return type;
}

static hid_t compound_type(void) {
    hid_t type = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(type, "r", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "i", 8, H5T_NATIVE_DOUBLE);
    return type;
}

static hid_t odd_type(uint8_t which) {
    const hsize_t three[] = {3};
    switch (which % 14) {
    case 0: return compound_type();
    case 1: return H5Tenum_create(H5T_NATIVE_UINT8);
    case 2: return sized(H5T_C_S1, 1 + which / 14);
    case 3: return sized(H5T_C_S1, H5T_VARIABLE);
    case 4: return H5Tvlen_create(H5T_NATIVE_INT);
    case 5: return H5Tcreate(H5T_OPAQUE, 4);
    case 6: return narrow_type(which / 14);
    case 7: return H5Tarray_create2(H5T_NATIVE_FLOAT, 1, three);
    case 8: return H5Tcopy(H5T_STD_B8LE);
    case 9: return H5Tcopy(H5T_STD_REF_OBJ);
    case 10: return half_type();
    case 11: return H5Tcopy(H5T_NATIVE_LDOUBLE);
    case 12: return sized(H5T_NATIVE_INT, 3);
    default: return sized(H5T_NATIVE_INT64, 16);
    }
}

// ---- arrays

// Writes the object's values; those that `is_odd` picks are replaced by e's.
static void fill(const Change *change, hid_t array, hsize_t count, bool (*is_odd)(const Change *, size_t)) {
    double *values = calloc(VALUES_MAX, sizeof *values);
    if (!values) abort();
    if (change->object->values) memcpy(values, change->object->values, VALUES_MAX * sizeof *values);
    for (size_t i = 0; i < count; i++)
        if (is_odd && is_odd(change, i)) values[i] = odd_value(change->e);
    H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values); // fails where it is no number
    free(values);
}

static bool every_third(const Change *change, size_t i) { return (void)change, i % 3 == 0; }
static bool number_d(const Change *change, size_t i) { return i == change->d; }

// HDF5 1.10.8 writes out of bounds itself in these.
static bool has_odd_filter(hid_t list) {
    for (int i = 0; i < H5Pget_nfilters(list); i++) {
        unsigned flags;
        size_t count = 0;
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &count, NULL, 0, NULL, NULL);
        if (filter == H5Z_FILTER_NBIT || filter == H5Z_FILTER_SCALEOFFSET) return true;
    }
    return false;
}

// Takes type, space and list over. A space that holds much is declared and left empty.
static void put(const Change *change, hid_t type, hid_t space, hid_t list, bool (*is_odd)(const Change *, size_t)) {
    hssize_t count = H5Sget_simple_extent_npoints(space);
    if (list == H5P_DEFAULT) list = H5Pcreate(H5P_DATASET_CREATE);
    if (count > VALUES_MAX && H5Pget_layout(list) == H5D_CONTIGUOUS) {
        hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
        int rank = H5Sget_simple_extent_dims(space, dims, NULL);
        for (int i = 0; i < rank; i++) chunk[i] = dims[i] < 4 ? dims[i] : 4;
        H5Pset_chunk(list, rank, chunk);
    }
    hid_t array = H5Dcreate2(change->file, change->object->path, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (array >= 0 && count > 0 && count <= VALUES_MAX && !has_odd_filter(list))
        fill(change, array, (hsize_t)count, is_odd);
    if (array >= 0) H5Dclose(array);
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(type);
}

static hid_t same_type(const Change *change) {
    return H5Tcopy(change->object->type ? change->object->type : H5T_NATIVE_FLOAT);
}

static hid_t space_of(int rank, const hsize_t *dims) {
    return rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
}

static hid_t same_space(const Change *change) { return space_of(change->object->rank, change->object->dims); }

static void put_rank(const Change *change, int rank) {
    hsize_t dims[H5S_MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = i < change->object->rank ? change->object->dims[i] : 1u + change->d % 2;
    put(change, same_type(change), space_of(rank, dims), H5P_DEFAULT, every_third);
}

static void put_dimension(const Change *change, hsize_t dimension) {
    hsize_t dims[H5_RANK_MAX] = {2};
    int rank = change->object->rank ? change->object->rank : 1;
    memcpy(dims, change->object->dims, sizeof dims);
    dims[change->c % rank] = dimension;
    put(change, same_type(change), space_of(rank, dims), H5P_DEFAULT, every_third);
}

// Chunks of one image each, or of an odd size, with filters that the guard knows and others.
static hid_t chunked_list(const Change *change) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[H5_RANK_MAX];
    int rank = change->object->rank;
    for (int i = 0; i < rank; i++) chunk[i] = i < rank - 3 ? 1 : change->object->dims[i];
    if (rank && change->d >= 128) chunk[change->d % rank] = 1 + change->d % 5;
    if (rank) H5Pset_chunk(list, rank, chunk);
    if (change->c & 1) H5Pset_shuffle(list);
    if (change->c & 2) H5Pset_deflate(list, change->c % 10);
    if (change->c & 4) H5Pset_fletcher32(list);
    if (change->c & 8) H5Pset_nbit(list);
    if (change->c & 16) H5Pset_scaleoffset(list, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
    if (change->c & 32) H5Pset_deflate(list, 1); // twice
    return list;
}

// A chunk's bytes as they lie in the file: garbage, or a sound chunk's with a byte changed, cut short or prolonged.
static void spoil_chunk(const Change *change, hid_t array) {
    hsize_t offset[H5_RANK_MAX] = {0}, stored = 0;
    uint32_t mask = 0;
    uint8_t bytes[2 * VALUES_MAX];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * change->e);
    if (H5Dget_chunk_storage_size(array, offset, &stored) < 0 || stored == 0 || stored > VALUES_MAX) return;
    if (change->d % 4) H5Dread_chunk(array, H5P_DEFAULT, offset, &mask, bytes);
    bytes[change->e % stored] ^= (uint8_t)(1 + change->d);
    if (change->d % 4 == 2) stored = 1 + change->e % stored;
    if (change->d % 4 == 3) stored += 1 + change->e;
    if (change->d % 16 == 15) mask = change->e; // filters left out
    H5Dwrite_chunk(array, H5P_DEFAULT, mask, offset, stored, bytes);
}

static void put_chunked(const Change *change) {
    put(change, same_type(change), same_space(change), chunked_list(change), NULL);
    hid_t array = H5Dopen2(change->file, change->object->path, H5P_DEFAULT);
    if (array >= 0 && change->d % 8) spoil_chunk(change, array);
    if (array >= 0) H5Dclose(array);
}

static void put_layout(const Change *change) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = same_space(change);
    if (change->c % 4 == 0) H5Pset_layout(list, H5D_COMPACT);
    if (change->c % 4 == 1) H5Pset_external(list, "/etc/passwd", 0, H5F_UNLIMITED);
    if (change->c % 4 == 2) H5Pset_virtual(list, space, "/dev/null", "x", space);
    if (change->c % 4 == 3)
        H5Pset_alloc_time(list, H5D_ALLOC_TIME_LATE), H5Pset_fill_value(list, H5T_NATIVE_UINT8, &change->e);
    put(change, same_type(change), space, list, number_d);
}

static void put_unlimited(const Change *change) {
    hsize_t most[H5_RANK_MAX];
    hid_t space = same_space(change);
    for (int i = 0; i < change->object->rank; i++) most[i] = H5S_UNLIMITED;
    if (change->object->rank) H5Sset_extent_simple(space, change->object->rank, change->object->dims, most);
    put(change, same_type(change), space, chunked_list(change), NULL);
}

// ---- links

static void link_soft(const Change *change, const Object *target) {
    char path[PATH_SIZE + 1];
    snprintf(path, sizeof path, "/%s", target->path);
    H5Lcreate_soft(path, change->file, change->object->path, H5P_DEFAULT, H5P_DEFAULT);
}

// A neighbour of an odd name: the object once more.
static void link_neighbour(const Change *change) {
    char path[PATH_SIZE + 256], name[256];
    const char *slash = strrchr(change->object->path, '/');
    int folder = slash ? (int)(slash - change->object->path) + 1 : 0;
    snprintf(path, sizeof path, "%.*s%s", folder, change->object->path, odd_name(change->c, name));
    hostile_save_link(change, path);
    H5Lcreate_hard(change->file, change->object->path, change->file, path, H5P_DEFAULT, H5P_DEFAULT);
}

static void commit_type(const Change *change) {
    hid_t type = plain_type(change->c);
    H5Tcommit2(change->file, change->object->path, type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(type);
}

// ---- changes

static void replace_rarely(const Change *change, uint8_t what) {
    const Object *other = &change->base->objects[change->c % change->base->object_count];
    const char *path = change->object->path;
    hid_t file = change->file;
    if (what == 0) return link_neighbour(change); // the only one that leaves the object
    hostile_save_link(change, change->object->path);
    hostile_remove_link(change->file, change->object->path);
    switch (what) {
    case 1: put(change, same_type(change), H5Screate(change->c % 2 ? H5S_NULL : H5S_SCALAR), H5P_DEFAULT, NULL); return;
    case 2: put(change, big_endian(same_type(change)), same_space(change), H5P_DEFAULT, NULL); return;
    case 3: put(change, odd_type(change->c), same_space(change), H5P_DEFAULT, NULL); return;
    case 4: H5Lcreate_hard(file, other->path, file, path, H5P_DEFAULT, H5P_DEFAULT); return;
    case 5: H5Lcreate_external("/etc/passwd", "/x", file, path, H5P_DEFAULT, H5P_DEFAULT); return;
    case 6: put_dimension(change, 0); return;
    case 7: put_rank(change, 1 + change->c % H5S_MAX_RANK); return;
    case 8: put_layout(change); return;
    case 9: commit_type(change); return;
    case 10: // as the other one is
        if (other->type) put(change, H5Tcopy(other->type), space_of(other->rank, other->dims), H5P_DEFAULT, NULL);
        return;
    case 11: put_unlimited(change); return;
    case 12: put(change, plain_type(change->c), same_space(change), H5P_DEFAULT, NULL); return;
    case 13: put(change, same_type(change), same_space(change), H5P_DEFAULT, number_d); return;
    default: put_chunked(change); return;
    }
}

static void replace(const Change *change, uint8_t what) {
    hostile_save_link(change, change->object->path);
    hostile_remove_link(change->file, change->object->path);
    switch (what) {
    case 0: return;
    case 1: link_soft(change, &change->base->objects[change->c % change->base->object_count]); return;
    case 2: h5_close_id(h5_create_group(change->file, change->object->path)); return;
    case 3: put(change, plain_type(change->c), same_space(change), H5P_DEFAULT, every_third); return;
    case 4: put_rank(change, 1 + change->c % 4); return;
    case 5: put_dimension(change, change->d); return;
    case 6: put_dimension(change, (hsize_t)1 << change->d % 40); return;
    default: put(change, same_type(change), same_space(change), H5P_DEFAULT, every_third); return;
    }
}

static void put_odd(hid_t object, const char *name, hid_t type, hid_t space, const void *value) {
    hostile_put_attribute(object, name, type, space, value);
    H5Sclose(space);
    H5Tclose(type);
}

// Forms that our writers never use.
static void odd_attribute(const Change *change, hid_t object, const char *name) {
    const hsize_t two[] = {1 + change->d % 3, 1 + change->d % 2};
    void *zero = calloc(1, 1 << 16);
    const double value = odd_value(change->e);
    char text[8] = "unended";
    text[7] = 'x';
    switch (change->c % 8) {
    case 0: put_odd(object, name, H5Tcopy(H5T_NATIVE_DOUBLE), H5Screate(H5S_NULL), NULL); break;
    case 1: put_odd(object, name, plain_type(change->e), space_of(2, two), zero); break;
    case 2: put_odd(object, name, odd_type(change->e), H5Screate(H5S_SCALAR), NULL); break;
    case 3: put_odd(object, name, odd_type(change->e), space_of(1, two), NULL); break;
    case 4: put_odd(object, name, sized(H5T_C_S1, 8), H5Screate(H5S_SCALAR), text); break;
    case 5: put_odd(object, name, sized(H5T_C_S1, 1 + 200 * change->d), H5Screate(H5S_SCALAR), zero); break;
    case 6: put_odd(object, name, big_endian(H5Tcopy(H5T_NATIVE_DOUBLE)), H5Screate(H5S_SCALAR), &value); break;
    default: put_odd(object, name, plain_type(change->e), space_of(1, two), zero); break;
    }
    free(zero);
}

static void change_attribute(const Change *change, const char *name) {
    char text[256];
    const uint32_t numbers[4] = {change->d, change->e, change->c, change->e};
    const hsize_t count = 1 + change->e % 4;
    hid_t object = H5Oopen(change->file, change->object->path, H5P_DEFAULT);
    if (object < 0) return; // an earlier change took it away
    hostile_save_attribute(change, object, name);
    memset(text, 'a' + change->e % 26, sizeof text);
    text[change->d] = 0;
    if (change->d > 1 && change->e % 5 == 0) text[1] = '\n';
    if (H5Aexists(object, name) > 0) H5Adelete(object, name);
    if (change->c >= 128) odd_attribute(change, object, name);
    else if (change->c % 4 == 1) h5_write_text(object, name, text);
    else if (change->c % 4 == 2) put_odd(object, name, H5Tcopy(H5T_NATIVE_UINT32), space_of(1, &count), numbers);
    else if (change->c % 4 == 3) h5_write_double(object, name, odd_value(change->e));
}

void hostile_change(HostileBase *base, const uint8_t *b) {
    Change change = {.base = base, .file = base->file, .c = b[2], .d = b[3], .e = b[4]};
    if (b[1] >= 192 && base->attribute_count) {
        const Attribute *attribute = &base->attributes[b[0] % base->attribute_count];
        change.object = attribute->owner;
        return change_attribute(&change, attribute->name);
    }
    change.object = &base->objects[1 + b[0] % (base->object_count - 1)]; // never the root
    if (b[1] >= 128) replace_rarely(&change, b[1] % 16);
    else replace(&change, b[1] % 8);
}
