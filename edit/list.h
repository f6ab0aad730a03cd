// SPDX-License-Identifier: Apache-2.0
// Lists of edits as structures, read from YAML by edit/list.c. Shared by edit/*.c alone.
#ifndef VPD_EDIT_LIST_H
#define VPD_EDIT_LIST_H

#include "base/arguments.h"
#include "edit/edit.h"
#include "lab/analytic.h"

#define EDIT_FAR 1e6      // metres; a larger number is taken for a mistake
#define EDIT_GRAVITY 9.81 // m/s^2
enum {
    EDIT_NAME_SIZE = ARGUMENT_NAME_SIZE,
    EDIT_PATH_SIZE = ARGUMENT_PATH_SIZE,
    EDIT_COPIES_MAX = 1000,
    EDIT_DRIVE_STEPS_MAX = 10000
};

// How the floor plane is found.
typedef struct FloorOptions {
    double within; // metres from the plane that count as floor; 0: a default from the support radii
    long seed;     // of the random planes that are tried
} FloorOptions;

// How connected components of the particles above the floor are found.
typedef struct ClusterOptions {
    bool floor;    // find the floor plane and exclude it
    double height; // with has_height: everything below this z is floor
    bool has_height;
    FloorOptions plane;
    double link; // metres, edge of the grid cells; 0: the median support radius
    long least;  // particles of the smallest cluster
} ClusterOptions;

typedef enum SelectKind {
    SELECT_ALL,
    SELECT_LABEL,
    SELECT_BOX,
    SELECT_SPHERE,
    SELECT_PLANE,
    SELECT_COLOUR,
    SELECT_HEIGHT,
    SELECT_MOVING,
    SELECT_BODY,
    SELECT_FLOOR,
    SELECT_CLUSTER,
    SELECT_PIXEL,
    SELECT_AND,
    SELECT_OR,
    SELECT_NOT
} SelectKind;

enum { TAKE_LABEL, TAKE_CLUSTER, TAKE_PARTICLE };

typedef struct Select {
    SelectKind kind;
    char name[EDIT_NAME_SIZE]; // of a label
    double a[3], b[3];         // box: corners; sphere: centre; plane: point, normal; colour: rgb 0..255; cluster: point
    double size;               // sphere: radius; plane, colour: largest distance
    double low, high;          // height
    bool yes;                  // moving: the flag that is selected
    long id, view;             // cluster, body; pixel
    double pixel[2];           // u, v; pixel centres lie at halves
    bool has_near, has_size, has_take;
    int take;
    ClusterOptions cluster;
    struct Select *child, *next; // operands of and, or, not
} Select;

typedef enum EditOp {
    EDIT_REMOVE,
    EDIT_KEEP,
    EDIT_MOVE,
    EDIT_ROTATE,
    EDIT_SCALE,
    EDIT_COPY,
    EDIT_RECOLOUR,
    EDIT_THROW,
    EDIT_DRIVE,
    EDIT_SIMULATE,
    EDIT_LABEL,
    EDIT_CLUSTER,
    EDIT_COMPOSE
} EditOp;

// Poses at the present and at the steps after it: x, y, z in metres, and a quaternion, w first.
typedef struct EditPath {
    size_t rows;
    const double *pose; // (rows, 7)
} EditPath;

typedef struct Edit {
    EditOp op;
    const char *word; // its name in YAML
    size_t line;
    char *source; // file or option that it was read from, for messages
    char *text;   // one line of YAML, for the history
    Select *select, *like;
    double by[3], axis[3], about[3], velocity[3], gravity[3], angle, factor; // metres, m/s, m/s^2, degrees
    EditPath path;
    AnalyticContact contact;
    bool has_about, has_id, has_gravity, has_velocity, replace;
    int if_empty; // 0: an empty selection is an error, 1: the edit is left out
    long count, id, step, steps;
    char as[EDIT_NAME_SIZE], file[EDIT_PATH_SIZE];
    ClusterOptions cluster;
    struct Edit *next;
} Edit;

struct EditList {
    Edit *first, **tail;
    size_t count;
};

// ---- maps and selections (edit/select_read.c)

// As arguments_read. Keys that no group has are read as selections into *select; if `select` is NULL, they are errors.
Status edit_arguments_read(const ArgumentReader *reader, const YamlNode *map, const ArgumentGroup *groups, size_t count,
                           Select **select);

// Reads the rows of a path into the EditPath at `field` (edit/drive.c).
Status edit_path_read(const ArgumentReader *reader, const YamlNode *node, void *field);

// Reads the numbers of a contact into the AnalyticContact at `field` (edit/simulate.c).
Status edit_contact_read(const ArgumentReader *reader, const YamlNode *node, void *field);

// Reads a whole map as one selection, the intersection of all its entries, into the Select * at `field`.
Status select_read(const ArgumentReader *reader, const YamlNode *map, void *field);
void select_free(Select *select); // accepts NULL

// Arguments of every edit and selection that finds clusters; offsets are within ClusterOptions.
extern const Argument CLUSTER_ARGUMENTS[];
extern const size_t CLUSTER_ARGUMENT_COUNT;
ClusterOptions cluster_defaults(void);

#endif
