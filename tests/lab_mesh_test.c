// SPDX-License-Identifier: Apache-2.0
// Mesh readers, shapes and checks.
#include "lab/mesh.h"

#include "base/vector.h"
#include "tests/test.h"

#define CORPUS "tests/fuzz/corpus/"

static double volume(const Mesh *mesh) {
    double sum = 0;
    for (size_t t = 0; t < mesh->T; t++) sum += mesh_tet_volume(mesh, t);
    return sum;
}

static double area(const Mesh *mesh) {
    double sum = 0;
    for (size_t f = 0; f < mesh->F; f++) sum += mesh_triangle_area(mesh, f);
    return sum;
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// ---- files that other programs wrote (trimesh, Gmsh)

static void test_surfaces(void **state) {
    static const struct {
        const char *path;
        size_t N, F;
        double area;
    } cases[] = {{CORPUS "mesh_obj/box.obj", 8, 12, 6},
                 {CORPUS "mesh_obj/quads.obj", 8, 12, 6},
                 {CORPUS "mesh_stl/box_binary.stl", 8, 12, 6},
                 {CORPUS "mesh_stl/box_ascii.stl", 8, 12, 6},
                 {CORPUS "mesh_ply/ico_ascii.ply", 12, 20, 9.5745},
                 {CORPUS "mesh_ply/ico_binary.ply", 12, 20, 9.5745},
                 {CORPUS "mesh_ply/big.ply", 4, 4, 2.3660}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Mesh mesh;
        Error err;
        assert_status_ok(mesh_read(cases[i].path, &mesh, &err), err);
        assert_int_equal(mesh.N, cases[i].N);
        assert_int_equal(mesh.F, cases[i].F);
        assert_close(area(&mesh), cases[i].area, 0, 1e-4); // files hold 8 digits, the table 5
        assert_status_ok(mesh_check(&mesh, cases[i].path, &err), err);
        assert_status_ok(mesh_check_closed(&mesh, cases[i].path, &err), err);
        mesh_free(&mesh);
    }
}

#define BINARY_2 CORPUS "mesh_msh/box_2.2_binary.msh"
#define BINARY_4 CORPUS "mesh_msh/box_4.1_binary.msh"

static void test_solids(void **state) {
    static const char *const paths[] = {CORPUS "mesh_msh/box_2.2.msh", CORPUS "mesh_msh/box_4.1.msh", BINARY_2,
                                        BINARY_4};
    (void)state;
    for (int i = 0; i < 4; i++) {
        Mesh mesh;
        Error err;
        assert_status_ok(mesh_read(paths[i], &mesh, &err), err);
        assert_close(volume(&mesh), 0.25, 0, 1e-12);
        assert_status_ok(mesh_check(&mesh, paths[i], &err), err);
        mesh_free(&mesh);
    }
}

// The first `size` bytes of a file, with byte `place` (-1: none) set to `value`.
static Status parse_part(const char *path, size_t size, long place, char value, Mesh *mesh, Error *err) {
    char text[8192];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(size < sizeof text && fread(text, 1, size, file) == size);
    fclose(file);
    text[size] = 0;
    if (place >= 0) text[place] = value;
    return mesh_parse_msh(text, size, "m", mesh, err);
}

// Binary files that are cut off, or of another order of bytes, or with wrong numbers.
static void test_binary(void **state) {
    static const struct {
        const char *path;
        size_t size;
    } files[] = {{BINARY_2, 4601}, {BINARY_4, 7294}};
    enum { MARKER = 20, END = 14 }; // where the 1 stands; "$EndElements" and its ends of line
    Mesh mesh = {0};
    Error err;
    (void)state;
    for (int i = 0; i < 2; i++) {
        for (size_t size = 0; size < files[i].size - END; size += 7) {
            Status status = parse_part(files[i].path, size, -1, 0, &mesh, &err);
            assert_true(status == STATUS_BAD_INPUT || mesh.T == 0);
            mesh_free(&mesh);
        }
        assert_status_error(parse_part(files[i].path, 200, MARKER, 7, &mesh, &err), STATUS_BAD_INPUT, err,
                            "a 1 behind the version");
        assert_status_error(parse_part(files[i].path, files[i].size, 18, '4', &mesh, &err), STATUS_BAD_INPUT, err,
                            "numbers of 8 bytes");
        mesh_free(&mesh);
    }
    char big[] = "$MeshFormat\n4.1 1 8\n\0\0\0\1\n$EndMeshFormat\n";
    assert_status_error(mesh_parse_msh(big, sizeof big - 1, "m", &mesh, &err), STATUS_BAD_INPUT, err,
                        "m:2: big-endian binary files are not read");
    char many[] = "$MeshFormat\n2.2 1 8\n\1\0\0\0\n$EndMeshFormat\n$Nodes\n16000000\n123456789";
    assert_status_error(mesh_parse_msh(many, sizeof many - 1, "m", &mesh, &err), STATUS_BAD_INPUT, err,
                        "the number of nodes is 16000000, and the file ends before that");
    mesh_free(&mesh);
}

// TetGen numbers from 0 or 1, and either way round.
static void test_tetgen(void **state) {
    char folder[64], node[96], ele[96];
    Mesh mesh;
    Error err;
    (void)state;
    test_make_folder(folder);
    snprintf(node, sizeof node, "%s/a.node", folder);
    snprintf(ele, sizeof ele, "%s/a.ele", folder);
    write_text(node, "# corners\n5 3 0 1\n0 0 0 0 1\n1 1 0 0 1\n2 0 1 0 1\n3 0 0 1 1\n4 9 9 9 0\n");
    write_text(ele, "1 4 0\n0 1 0 2 3\n");
    assert_status_ok(mesh_read(ele, &mesh, &err), err);
    assert_int_equal(mesh.N, 4); // the fifth belongs to no tet
    assert_string_equal(mesh.note, "");
    assert_close(volume(&mesh), 1.0 / 6, 0, 1e-15);
    mesh_free(&mesh);
    write_text(ele, "1 10 0\n1 1 2 3 4 1 2 3 4 1 2\n");
    assert_status_error(mesh_read(node, &mesh, &err), STATUS_BAD_INPUT, err,
                        "a.ele:1: tetrahedra of 10 corners (order 2) are not read, only those of 4");
    write_text(ele, "2 4 0\n7 0 1 2 3\n8 0 1 1 2\n");
    assert_status_ok(mesh_read(ele, &mesh, &err), err);
    assert_status_error(mesh_check(&mesh, "m", &err), STATUS_BAD_INPUT, err, "m: tetrahedron 8 is flat");
    mesh_free(&mesh);
    write_text(ele, "2 4 0\n0 0 1 1 2\n1 0 1 2 3\n");
    assert_status_ok(mesh_read(ele, &mesh, &err), err);
    assert_status_error(mesh_check(&mesh, "m", &err), STATUS_BAD_INPUT, err, "m: tetrahedron 0 is flat");
    mesh_free(&mesh);
    write_text(ele, "1 4 0\n1 1 2 3 5\n");
    assert_status_error(mesh_read(node, &mesh, &err), STATUS_BAD_INPUT, err,
                        "a.ele:2: corner: expected a whole number from 0 to 4, found 5");
    unlink(ele);
    assert_status_error(mesh_read(node, &mesh, &err), STATUS_BAD_INPUT, err, "a.ele: ");
    char obj[96], note[256];
    snprintf(obj, sizeof obj, "%s/a.obj", folder);
    snprintf(note, sizeof note, "%s: 1 vertex belongs to no element and is left out; later numbers move", obj);
    write_text(obj, "v 0 0 0\nv 9 9 9\nv 1 0 0\nv 0 1 0\nf 1 3 4\n");
    assert_status_ok(mesh_read(obj, &mesh, &err), err);
    assert_int_equal(mesh.N, 3);
    assert_string_equal(mesh.note, note);
    mesh_free(&mesh);
    test_remove_folder(folder);
}

// ---- wrong files

typedef Status Parser(char *text, size_t size, const char *name, Mesh *out, Error *err);

static void test_wrong(void **state) {
    static const struct {
        Parser *parse;
        const char *text, *words;
    } cases[] = {
        {mesh_parse_obj, "v 0 0\n", "m:1: expected 3 numbers of a vertex, found 2"},
        {mesh_parse_obj, "v 0 0 nan\n", "m:1: expected finite numbers of a vertex, found \"nan\""},
        {mesh_parse_obj, "v 0 0 0\nf 1 2 3\n", "m:2: the face names vertex 2, but 1 were read so far"},
        {mesh_parse_obj, "v 0 0 0\n\n# c\nf 1 1\n", "m:4: a face needs 3 corners, found 2"},
        {mesh_parse_obj, "v 0 0 0\nf 1 x 1\n", "m:2: expected a corner such as 7 or 7/2/3, found \"x\""},
        {mesh_parse_obj, "v 0 0 0\nv 1 1 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 4\n",
         "m:5: the face is flat, its corners coincide or its sides cross"},
        {mesh_parse_obj, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 3\n", "m:4: the face is flat, its corners coincide"},
        {mesh_parse_ply, "plyx\n", "m: expected a PLY file"},
        {mesh_parse_ply, "ply\nelement vertex 1\nend_header\n", "m:3: the header names no format"},
        {mesh_parse_ply, "ply\nformat text 1.0\n", "m:2: expected the format ascii"},
        {mesh_parse_ply, "ply\nformat ascii 1.0\nelement vertex 99999999999\n", "m:3: vertex: expected a whole number"},
        {mesh_parse_ply,
         "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 "
         "0 0\n",
         "expected vertex, found the end of the file"},
        {mesh_parse_ply, "ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty float x\nend_header\n12",
         "m: the file ends before its last element"},
        {mesh_parse_ply,
         "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n3 0 1 2\n",
         "m:6: face: expected the element vertex before the element face"},
        {mesh_parse_ply,
         "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nelement face "
         "1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n3 0 1 2\n",
         "m:11: face: it names a vertex that is not there"},
        {mesh_parse_stl, "round\n", "m: expected an STL file"},
        {mesh_parse_ply,
         "ply\nformat binary_little_endian 1.0\nelement face 1\nproperty list uchar uchar vertex_indices\nend_header\n"
         "\3\1\2\3",
         "m: face 1: expected the element vertex before the element face"},
        {mesh_parse_stl, "solid x\nvertex 0 0 0\nendloop\nvertex 0 0 0\n",
         "m:3: expected 3 vertices a facet, found 1 in all"},
        {mesh_parse_msh, "$Nodes\n1\n1 0 0 0\n", "m:1: expected $MeshFormat before $Nodes"},
        {mesh_parse_msh, "$MeshFormat\n4.1 1 8\n", "m:2: expected the number 1 behind the version, found the end"},
        {mesh_parse_msh, "$MeshFormat\n4 0 8\n", "m:2: expected version 2.x or 4.1, found 4"},
        {mesh_parse_msh, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n2\n7 0 0 0\n7 0 0 1\n",
         "m:7: two nodes have the tag 7"},
        {mesh_parse_msh, "$MeshFormat\n2.2 0 8\n$Nodes\n1\n7 0 0 0\n$EndNodes\n$Elements\n1\n1 4 2 0 0 7 7 7 8\n",
         "m:9: element 1 names node 8, which is not there"},
#define ELEMENT(text) "$MeshFormat\n2.2 0 8\n$Nodes\n1\n7 0 0 0\n$EndNodes\n$Elements\n1\n" text "\n"
        {mesh_parse_msh, ELEMENT("1 11 2 0 0 7 7 7 7 7 7 7 7 7 7"),
         "m:9: elements of order 2 and above (type 11) are not read; save it with Mesh.ElementOrder = 1"},
        {mesh_parse_msh, ELEMENT("1 9 2 0 0 7 7 7 7 7 7"), "m:9: elements of order 2 and above (type 9) are not read"},
        {mesh_parse_msh, ELEMENT("1 5 2 0 0 7 7 7 7 7 7 7 7"),
         "m:9: hexahedra, prisms and pyramids (type 5) are not read, only triangles and tetrahedra"},
        {mesh_parse_msh, ELEMENT("1 3 2 0 0 7 7 7 7"), "m:9: quadrangles (type 3) are not read"},
        {mesh_parse_msh, "$MeshFormat\n2.2 0 8\n$Nodes\n3\n7 0 0 0\n",
         "m:5: expected a node, found the end of the file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = strdup(cases[i].text);
        Mesh mesh = {0};
        Error err;
        assert_status_error(cases[i].parse(text, strlen(text), "m", &mesh, &err), STATUS_BAD_INPUT, err,
                            cases[i].words);
        mesh_free(&mesh);
        free(text);
    }
}

// Polygons of any shape keep their area: with each corner first, in both directions, level and on a slope.
static void test_polygons(void **state) {
    static const struct {
        int count;
        double at[12][2], area;
    } cases[] = {{4, {{0, 0}, {2, 0}, {2, 1}, {0, 1}}, 2},
                 {6, {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}}, 3},                 // an L
                 {4, {{0, 0}, {2, 2}, {0, 1}, {-2, 2}}, 2},                                // an arrow head
                 {8, {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}}, 4}, // corners on straight sides
                 {8, {{0, 0}, {3, 0}, {3, 3}, {2, 3}, {2, 1}, {1, 1}, {1, 3}, {0, 3}}, 7}, // a U
                 {10,
                  {{0, 0}, {3, 0}, {3, 3}, {0, 3}, {0, 0}, {1, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 1}},
                  8}}; // a hole, by a bridge
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int first = 0; first < cases[k].count; first++)
            for (int way = -1; way <= 1; way += 2) {
                char text[2048];
                size_t used = 0;
                Mesh mesh = {0};
                Error err;
                for (int i = 0; i < cases[k].count; i++) {
                    const double *p = cases[k].at[(first + way * i + cases[k].count) % cases[k].count];
                    used +=
                        (size_t)sprintf(text + used, "v %g %g %g\n", p[0], p[1], 0.75 * p[0]); // sides of 1 are 1.25
                }
                used += (size_t)sprintf(text + used, "f");
                for (int i = 0; i < cases[k].count; i++) // in two lines
                    used += (size_t)sprintf(text + used, i == 2 ? " \\\r\n%d" : " %d", i + 1);
                assert_status_ok(mesh_parse_obj(text, used, "m", &mesh, &err), err);
                assert_int_equal(mesh.F, cases[k].count - 2);
                assert_close(area(&mesh), 1.25 * cases[k].area, 0, 1e-12);
                assert_status_ok(mesh_check(&mesh, "m", &err), err);
                mesh_free(&mesh);
            }
}

// Obj texts that are read, and then found to be wrong.
static void test_checks(void **state) {
#define SQUARE "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\n"
    static const struct {
        const char *text, *words;
        bool closed;
    } cases[] = {
        {SQUARE "f 1 2 3\nf 1 1 2\n", "m:7: the face is flat: its area is 0 m^2", false},
        {SQUARE "f 1 2 3\nf 2 1 4\nf 1 2 5\n",
         "m:6: the face and more than one other share an edge, so the surface is not a manifold: from (0, 0, "
         "0) to (1, 0, 0) m",
         false},
        {SQUARE "f 1 2 3\nf 2 1 4\n",
         "m:6: the face has an edge at which no other is, so the surface is not closed: from (0, 0, 0) to (0, 1, "
         "0) m",
         true},
        {SQUARE "f 1 2 3\nf 1 2 5\nf 2 3 5\nf 3 1 5\n",
         "m:6: the face and the other one at an edge are turned in different ways: from (0, 0, 0) to (1, 0, 0) m",
         true},
        {"v 0 0 0\nv 1e7 0 0\nv 0 1 0\nf 1 2 3\n", "m: a vertex at (1e+07, 0, 0) m: expected less than 1e6 m", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = strdup(cases[i].text);
        Mesh mesh = {0};
        Error err;
        assert_status_ok(mesh_parse_obj(text, strlen(text), "m", &mesh, &err), err);
        if (cases[i].closed) assert_status_ok(mesh_check(&mesh, "m", &err), err);
        assert_status_error((cases[i].closed ? mesh_check_closed : mesh_check)(&mesh, "m", &err), STATUS_BAD_INPUT, err,
                            cases[i].words);
        mesh_free(&mesh);
        free(text);
    }
}

static void test_tets(void **state) {
    const double at[6][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, -1}, {0, 0, 1e-9}};
    static const struct {
        int32_t tets[3][4];
        size_t count;
        const char *words;
    } cases[] = {
        {{{0, 1, 2, 3}, {0, 1, 2, 4}}, 2, "tetrahedron 2 is inverted: its volume is -0.167 m^3"},
        {{{0, 1, 2, 5}}, 1, "tetrahedron 1 is flat: its volume is 1.67e-10 m^3"},
        {{{0, 1, 2, 3}, {0, 2, 1, 4}, {0, 1, 2, 3}}, 3, "not a manifold: the tetrahedra 1, 2 and 3 share one face"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Mesh mesh = {0};
        Error err;
        for (int v = 0; v < 6; v++) assert_status_ok(mesh_add_vertex(&mesh, at[v], &err), err);
        for (size_t t = 0; t < cases[i].count; t++) assert_status_ok(mesh_add_tet(&mesh, cases[i].tets[t], &err), err);
        assert_status_error(mesh_check(&mesh, "m", &err), STATUS_BAD_INPUT, err, cases[i].words);
        mesh_free(&mesh);
    }
}

// ---- shapes

static void test_shapes(void **state) {
    Mesh mesh = {0};
    Error err;
    (void)state;
    assert_status_ok(mesh_make_box((double[]){1, 0.5, 0.25}, (int[]){4, 3, 2}, &mesh, &err), err);
    assert_int_equal(mesh.T, 5 * 24);
    assert_int_equal(mesh.N, 5 * 4 * 3);
    assert_close(volume(&mesh), 0.125, 0, 1e-12);
    assert_status_ok(mesh_check(&mesh, "box", &err), err);
    mesh_free(&mesh);
    for (int cells = 1; cells <= 5; cells++) { // towards the ball's volume, from below
        assert_status_ok(mesh_make_sphere(2, cells, &mesh, &err), err);
        assert_int_equal(mesh.T, 20 * cells * cells * cells);
        double ball = 4.0 / 3 * 3.14159265 * 8, lacking = 1 - volume(&mesh) / ball;
        assert_true(lacking > 0 && lacking < 0.6 / (cells * cells)); // an icosahedron lacks 0.39
        assert_status_ok(mesh_check(&mesh, "ball", &err), err);
        mesh_free(&mesh);
    }
    assert_status_ok(mesh_make_cloth((double[]){2, 1}, (int[]){4, 2}, &mesh, &err), err);
    assert_close(area(&mesh), 2, 0, 1e-12);
    assert_status_ok(mesh_check(&mesh, "cloth", &err), err);
    mesh_free(&mesh);
    assert_status_ok(mesh_make_grid((double[]){1, 1, 1}, (int[]){3, 3, 1}, &mesh, &err), err);
    assert_int_equal(mesh.S, 12 + 8); // sides and diagonals of four squares
    mesh_free(&mesh);
    assert_status_ok(mesh_make_grid((double[]){1, 1, 1}, (int[]){5, 1, 1}, &mesh, &err), err);
    assert_int_equal(mesh.S, 4);
    mesh_free(&mesh);
    assert_status_error(mesh_make_box((double[]){1, 1, 1}, (int[]){4096, 4096, 4096}, &mesh, &err), STATUS_BAD_INPUT,
                        err, "at most 16777216 tetrahedra are possible");
    mesh_free(&mesh);
}

static void test_fill(void **state) {
    Mesh surface, solid = {0};
    Error err;
    (void)state;
    assert_status_ok(mesh_read(CORPUS "mesh_stl/box_binary.stl", &surface, &err), err);
    assert_status_ok(mesh_fill(&surface, 0.25, "m", &solid, &err), err);
    assert_close(volume(&solid), 1, 0, 1e-12);
    assert_status_ok(mesh_check(&solid, "m", &err), err);
    assert_string_equal(solid.note, "");
    mesh_free(&solid);
    assert_status_ok(mesh_fill(&surface, 0.6, "m", &solid, &err), err); // two cells along each edge
    assert_close(volume(&solid), 1.728, 0, 1e-12);
    assert_string_equal(solid.note, "m: fill: cells of 0.6 m make a volume of 1.73 m^3, and the surface holds 1 m^3; "
                                    "smaller ones come nearer");
    mesh_free(&solid);
    assert_status_error(mesh_fill(&surface, 1e-4, "m", &solid, &err), STATUS_BAD_INPUT, err, "take larger ones");
    mesh_free(&solid);
    mesh_free(&surface);
    assert_status_ok(mesh_read(CORPUS "mesh_ply/ico_binary.ply", &surface, &err), err);
    assert_status_ok(mesh_fill(&surface, 0.1, "m", &solid, &err), err);
    assert_close(volume(&solid), 2.5362, 0, 0.05); // of an icosahedron; cells of a twentieth of its width
    assert_string_equal(solid.note, "");
    mesh_free(&solid);
    mesh_free(&surface);
}

// Each square of a cube has four vertices of its own, as programs write them that keep a normal for each corner.
static void test_doubles(void **state) {
    static const char square[] = "v %1$d %2$d 0\nv %1$d %2$d 1\nv %3$d %4$d 1\nv %3$d %4$d 0\nf -4 -3 -2 -1\n";
    static const int side[5][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const char *path = "lab_mesh_test_doubles.obj";
    Mesh surface, solid = {0};
    Error err;
    (void)state;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 4; i++) fprintf(file, square, side[i][0], side[i][1], side[i + 1][0], side[i + 1][1]);
    for (int z = 0; z < 2; z++)
        fprintf(file, "v 0 0 %1$d\nv 0 1 %1$d\nv 1 1 %1$d\nv 1 0 %1$d\nf %2$s\n", z, z ? "-1 -2 -3 -4" : "-4 -3 -2 -1");
    fclose(file);
    assert_status_ok(mesh_read(path, &surface, &err), err);
    assert_int_equal(surface.N, 24);
    assert_string_equal(surface.note, "lab_mesh_test_doubles.obj: 16 vertices lie at the very place of others and are "
                                      "not joined to them, so the object comes apart there");
    assert_status_error(mesh_check_closed(&surface, "m", &err), STATUS_BAD_INPUT, err, "is not closed");
    assert_status_ok(mesh_fill(&surface, 0.5, "m", &solid, &err), err);
    assert_close(volume(&solid), 1, 0, 1e-12);
    mesh_free(&solid);
    mesh_free(&surface);
    remove(path);
}

// Which cells lie inside, of a hollow ball of many small triangles.
static void test_fill_hollow(void **state) {
    static const double radius[2] = {1, 0.6};
    Mesh surface = {0}, ball = {0}, solid = {0};
    Error err;
    (void)state;
    for (int shell = 0; shell < 2; shell++) {
        int32_t *faces;
        size_t count, before = surface.N;
        assert_status_ok(mesh_make_sphere(radius[shell], 8, &ball, &err), err);
        assert_status_ok(mesh_surface(&ball, &faces, &count, &err), err);
        for (size_t i = 0; i < ball.N; i++)
            assert_status_ok(mesh_add_vertex(&surface, ball.position + 3 * i, &err), err);
        for (size_t f = 0; f < count; f++) {
            const int32_t *v = faces + 3 * f, add = (int32_t)before;
            const int32_t out[3] = {v[0] + add, v[1 + shell] + add, v[2 - shell] + add}; // the inner one is turned
            assert_status_ok(mesh_add_triangle(&surface, out, &err), err);
        }
        free(faces);
        mesh_free(&ball);
    }
    assert_status_ok(mesh_fill(&surface, 0.07, "m", &solid, &err), err);
    size_t inside = 0, wrong = 0;
    for (int i = -15; i <= 15; i++)
        for (int j = -15; j <= 15; j++)
            for (int k = -15; k <= 15; k++) { // a shell is up to .013 inside its sphere
                const double r = 0.07 * sqrt(i * i + j * j + k * k);
                inside += r < 0.98 && r > 0.6;
                wrong += (r >= 0.98 && r < 1) || (r > 0.58 && r <= 0.6);
            }
    assert_true(solid.T / 5 >= inside && solid.T / 5 <= inside + wrong);
    mesh_free(&solid);
    mesh_free(&surface);
}

// The surface of a box by its corner and size, turned inwards or outwards, behind what there is.
static void add_box(const double low[3], double size, bool inwards, Mesh *out) {
    static const int32_t side[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                       {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
    const int32_t first = (int32_t)out->N;
    Error err;
    for (int i = 0; i < 8; i++) {
        const double at[3] = {low[0] + size * (i & 1), low[1] + size * (i >> 1 & 1), low[2] + size * (i >> 2)};
        assert_status_ok(mesh_add_vertex(out, at, &err), err);
    }
    for (int i = 0; i < 12; i++) {
        const int32_t *v = side[i / 2];
        const int32_t a = first + v[0], b = first + v[1 + i % 2], c = first + v[2 + i % 2];
        assert_status_ok(mesh_add_triangle(out, (const int32_t[]){a, inwards ? c : b, inwards ? b : c}, &err), err);
    }
}

// A box with a hollow in which another one is, one that touches it and one apart: shells that some program turned
// inwards are turned back, and the hollow stays one.
static void test_shells(void **state) {
    static const double low[5][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {1, 1, 10}, {20, 0, 0}},
                        size[5] = {10, 8, 3, 2, 9};
    static const int turned[] = {0, 31, 7, 8, 16, 24, 4, 28};
    (void)state;
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++) {
        Mesh mesh = {0};
        Error err;
        for (int k = 0; k < 5; k++) add_box(low[k], size[k], (k == 1) != (turned[i] >> k & 1), &mesh);
        assert_status_ok(mesh_close(&mesh, "m", &err), err);
        for (int k = 0; k < 5; k++)
            assert_close(vector_enclosed(mesh.position, 8 * k, mesh.triangle + 36 * k, 12),
                         (k == 1 ? -1 : 1) * size[k] * size[k] * size[k], 0, 1e-12);
        mesh_free(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_surfaces), cmocka_unit_test(test_solids),  cmocka_unit_test(test_binary),
        cmocka_unit_test(test_tetgen),   cmocka_unit_test(test_wrong),   cmocka_unit_test(test_polygons),
        cmocka_unit_test(test_checks),   cmocka_unit_test(test_tets),    cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_fill),     cmocka_unit_test(test_doubles), cmocka_unit_test(test_fill_hollow),
        cmocka_unit_test(test_shells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
