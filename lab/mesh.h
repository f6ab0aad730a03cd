// SPDX-License-Identifier: Apache-2.0
// Triangle and tetrahedron meshes: readers of .obj, .ply, .stl, .msh (Gmsh 2.x and 4.1) and .node + .ele
// (TetGen), built-in shapes, and the checks that a simulation needs. Files are not trusted.
#ifndef VPD_LAB_MESH_H
#define VPD_LAB_MESH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESH_ITEMS_MAX = 1 << 24 }; // vertices, and elements of a kind
enum { MESH_NOTE_SIZE = 512 };
enum { MESH_CORNERS_MAX = 64 }; // of a polygon

// A solid has tets, a surface has triangles; springs may join the vertices of a mesh with neither.
typedef struct Mesh {
    size_t N, F, T, S; // vertices, triangles, tets, springs
    double *position;  // (N,3) metres
    int32_t *triangle; // (F,3)
    int32_t *tet;      // (T,4); (b-a) x (c-a) . (d-a) > 0
    int32_t *spring;   // (S,2)
    // Where triangles (F) and tets (T) stand in their file, for messages: the line of a text, the number from 1 of a
    // binary file; 0: nowhere, as in built-in shapes.
    int32_t *triangle_place, *tet_place;
    int32_t place;             // of those that are added next
    bool lines;                // places are lines
    bool from_zero;            // else numbers; the file may count from 0, and places are larger by 1 than its numbers
    char note[MESH_NOTE_SIZE]; // what the user should know of how it was made, or ""
} Mesh;

void mesh_free(Mesh *mesh); // accepts {0}

// By the path's ending; for .node and .ele both files. Tets of a file that all are inverted are turned, vertices that
// belong to no element are left out, which `note` says where others get new numbers, and triangles beside tets too.
Status mesh_read(const char *path, Mesh *out, Error *err);

// What the readers read, one function for each format. text[size] is 0; the text is changed. `name` is for messages.
Status mesh_parse_obj(char *text, size_t size, const char *name, Mesh *out, Error *err);
Status mesh_parse_ply(char *text, size_t size, const char *name, Mesh *out, Error *err);
Status mesh_parse_stl(char *text, size_t size, const char *name, Mesh *out, Error *err);
Status mesh_parse_msh(char *text, size_t size, const char *name, Mesh *out, Error *err);
typedef struct MeshFile {
    char *text;
    size_t size;
    const char *name;
} MeshFile;
Status mesh_parse_tetgen(MeshFile node, MeshFile ele, Mesh *out, Error *err);

// ---- checks; `name` is for messages

// Finite positions, no flat or inverted element, no face of three tets, no edge of three triangles.
Status mesh_check(const Mesh *mesh, const char *name, Error *err);
// Each edge of the surface belongs to exactly two triangles that turn the same way.
Status mesh_check_closed(const Mesh *mesh, const char *name, Error *err);

// ---- shapes

// A box around the origin of cells x cells x cells, five tets each.
Status mesh_make_box(const double size[3], const int cells[3], Mesh *out, Error *err);
// A ball around the origin: an icosahedron's 20 tets, each in cells^3, drawn onto spheres.
Status mesh_make_sphere(double radius, int cells, Mesh *out, Error *err);
// A rectangle in the xy plane, two triangles a cell.
Status mesh_make_cloth(const double size[2], const int cells[2], Mesh *out, Error *err);
// A grid of points[0] x points[1] x points[2] vertices around the origin, joined by springs along its edges and across
// its squares; of one row it is a chain along x.
Status mesh_make_grid(const double size[3], const int points[3], Mesh *out, Error *err);
// The cells of edge `cell` whose centres lie inside a closed surface, five tets each; `note` says where their volume is
// far from the surface's. The surface is closed first (mesh_close).
Status mesh_fill(Mesh *surface, double cell, const char *name, Mesh *out, Error *err);

// ---- edges

typedef struct MeshEdge {
    int32_t a, b;           // a < b
    int32_t opposite[2];    // third vertices of the triangles at it; -1: none
    int32_t face[2], count; // those triangles, and how many there are
    bool same_way;          // both triangles run through it in the same direction
} MeshEdge;

// The edges of the triangles, each once, in order of (a, b); malloc'ed.
Status mesh_edges(const Mesh *mesh, MeshEdge **out, size_t *count, Error *err);

// ---- faces of tets

typedef struct MeshFace {
    int32_t corner[3]; // in order of number
    int32_t tet;
    int without; // the tet's corner that is opposite
} MeshFace;

// The faces of all tets, 4 T of them, those of the same corners one after the other; malloc'ed.
Status mesh_tet_faces(const Mesh *mesh, MeshFace **out, Error *err);
// The triangles of a surface, or those of a solid that belong to one tet alone, turned outwards: (count,3), malloc'ed.
Status mesh_surface(const Mesh *mesh, int32_t **out, size_t *count, Error *err);

double mesh_tet_volume(const Mesh *mesh, size_t tet);         // m^3, negative when inverted
double mesh_triangle_area(const Mesh *mesh, size_t triangle); // m^2
// Of a triangle as seen from a point, above 0 from behind; all of a closed surface add up to 4 pi inside.
double mesh_solid_angle(const Mesh *mesh, size_t triangle, const double at[3]);

// ---- for those who make meshes

// The count - 2 triangles of a polygon of 3 to MESH_CORNERS_MAX vertices: a fan around the first corner, or, where that
// would fold over, ears cut off one after the other. false: corners coincide, sides cross, or it has no area.
bool mesh_polygon(const Mesh *mesh, const int32_t *corners, int count, int32_t (*out)[3]);
Status mesh_add_vertex(Mesh *mesh, const double at[3], Error *err);
Status mesh_add_triangle(Mesh *mesh, const int32_t corners[3], Error *err);
Status mesh_add_tet(Mesh *mesh, const int32_t corners[4], Error *err);
Status mesh_add_spring(Mesh *mesh, int32_t a, int32_t b, Error *err);
// The five tets of a cell, whose corner c is at (c & 1, c >> 1 & 1, c >> 2): one in the middle and one at each of the
// four other corners. Neighbouring cells are mirrored, so that their faces have the same diagonal.
Status mesh_add_cell(Mesh *mesh, const int32_t corner[8], bool mirrored, Error *err);
// Makes one vertex of those at the very same place; vertices are then in order of their places. `joined`, or NULL: how
// many there are fewer.
Status mesh_weld(Mesh *mesh, size_t *joined, Error *err);
Status mesh_doubles(const Mesh *mesh, size_t *out, Error *err); // how many mesh_weld would join
// Turns those shells of a closed surface outwards, with all that is in them, that are turned inwards and not in another
// one, where they are hollows.
Status mesh_turn_outwards(Mesh *surface, Error *err);
// Checks that a surface is closed, and turns it outwards (mesh_turn_outwards). Vertices at the very same place are
// joined if it is not closed otherwise: programs that keep a normal or a texture for each corner write vertices twice.
Status mesh_close(Mesh *surface, const char *name, Error *err);

#endif
