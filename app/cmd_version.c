// SPDX-License-Identifier: Apache-2.0
// `vpd version`, also `vpd --version`: the build, and the libraries that are loaded.
#include "app/commands.h"
#include "base/file.h"
#include "base/json.h"
#include "base/threads.h"
#include "base/version.h"

#include <dnnl.h>
#include <gif_lib.h>
#include <hdf5.h>
#include <jansson.h>
#include <jpeglib.h>
#include <limits.h>
#include <OpenEXR/openexr.h>
#include <png.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

#define TEXT(x) #x
#define TEXT_OF(macro) TEXT(macro)

static const Flag flags[] = {
    {.name = "json", .help = "one JSON object instead of lines"},
    {0},
};

static void add(json_t *list, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(json_t *list, const char *name, const char *format, ...) {
    char version[64];
    va_list args;
    va_start(args, format);
    vsnprintf(version, sizeof version, format, args);
    va_end(args);
    json_object_set_new(list, name, json_string(version));
}

// Name and version of each, as it is loaded now.
static json_t *list_libraries(void) {
    unsigned major = 0, minor = 0, release = 0, hash = XXH_versionNumber();
    H5get_libversion(&major, &minor, &release);
    const dnnl_version_t *dnnl = dnnl_version();
    const char *tiff = TIFFGetVersion(), *tiff_number = strstr(tiff, "Version ");
    tiff_number = tiff_number ? tiff_number + strlen("Version ") : tiff;
    int webp = WebPGetDecoderVersion(), exr[3] = {0};
    exr_get_library_version(&exr[0], &exr[1], &exr[2], NULL);
    json_t *out = json_object();
    add(out, "HDF5", "%u.%u.%u", major, minor, release);
    add(out, "oneDNN", "%d.%d.%d", dnnl->major, dnnl->minor, dnnl->patch);
    add(out, "zlib", "%s", zlibVersion());
    add(out, "libyaml", "%s", yaml_get_version_string());
    add(out, "jansson", "%s", jansson_version_str());
    add(out, "xxhash", "%u.%u.%u", hash / 10000, hash / 100 % 100, hash % 100);
    add(out, "libpng", "%s", png_get_libpng_ver(NULL));
    add(out, "libjpeg", "%s", TEXT_OF(LIBJPEG_TURBO_VERSION));
    add(out, "libtiff", "%.*s", (int)strcspn(tiff_number, "\n"), tiff_number);
    add(out, "libwebp", "%d.%d.%d", webp >> 16, webp >> 8 & 255, webp & 255);
    add(out, "OpenEXR", "%d.%d.%d", exr[0], exr[1], exr[2]);
    add(out, "giflib", "%d.%d.%d", GIFLIB_MAJOR, GIFLIB_MINOR, GIFLIB_RELEASE);
    return out;
}

// The installed folder of the sample video and the pretrained model, which moves with the program. NULL when there is
// none, as for a program in its build folder. The caller frees it.
static char *find_examples(void) {
    char program[PATH_MAX], path[PATH_MAX + sizeof VPD_EXAMPLES];
    if (!realpath("/proc/self/exe", program)) return NULL;
    char *slash = strrchr(program, '/');
    if (!slash) return NULL;
    *slash = 0;
    snprintf(path, sizeof path, "%s/" VPD_EXAMPLES, program);
    return file_is_folder(path) ? realpath(path, NULL) : NULL;
}

static Status run_version(const CommandLine *line, Error *err) {
    const char *name;
    json_t *libraries = list_libraries(), *version;
    char *examples = find_examples();
    if (command_has(line, "json")) {
        json_t *object = json_pack("{s:s s:s s:s s:i s:i s:s? s:o}", "vpd", version_number(), "commit",
                                   version_commit(), "compiler", version_compiler(), "openmp", _OPENMP, "threads",
                                   line->threads, "examples", examples, "libraries", libraries);
        free(examples);
        return json_write_line(stdout, object, err);
    }
    printf("vpd %s\n", version_number());
    printf("commit    %s\n", version_commit());
    printf("compiler  %s\n", version_compiler());
    printf("OpenMP    %d, %d thread%s here\n", _OPENMP, line->threads, line->threads == 1 ? "" : "s");
    if (examples) printf("examples  %s\n", examples);
    json_object_foreach(libraries, name, version) printf("%-9s %s\n", name, json_string_value(version));
    json_decref(libraries);
    free(examples);
    return STATUS_OK;
}

const Command command_version = {
    .name = "version",
    .summary = "show the build and its libraries",
    .arguments = "",
    .flags = flags,
    .run = run_version,
};
