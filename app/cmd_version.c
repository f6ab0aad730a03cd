// SPDX-License-Identifier: Apache-2.0
// `vpd version`, also `vpd --version`: the build, and the libraries as they are loaded now.
#include "app/commands.h"
#include "base/threads.h"
#include "base/version.h"

#include <dnnl.h>
#include <gif_lib.h>
#include <hdf5.h>
#include <jansson.h>
#include <jpeglib.h>
#include <png.h>
#include <string.h>
#include <tiffio.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

#define TEXT(x) #x
#define TEXT_OF(macro) TEXT(macro)

static void print_libraries(void) {
    unsigned major = 0, minor = 0, release = 0, hash = XXH_versionNumber();
    H5get_libversion(&major, &minor, &release);
    const dnnl_version_t *dnnl = dnnl_version();
    const char *tiff = TIFFGetVersion(), *tiff_number = strstr(tiff, "Version ");
    tiff_number = tiff_number ? tiff_number + strlen("Version ") : tiff;
    printf("HDF5      %u.%u.%u\n", major, minor, release);
    printf("oneDNN    %d.%d.%d\n", dnnl->major, dnnl->minor, dnnl->patch);
    printf("zlib      %s\n", zlibVersion());
    printf("libyaml   %s\n", yaml_get_version_string());
    printf("jansson   %s\n", jansson_version_str());
    printf("xxhash    %u.%u.%u\n", hash / 10000, hash / 100 % 100, hash % 100);
    printf("libpng    %s\n", png_get_libpng_ver(NULL));
    printf("libjpeg   %s\n", TEXT_OF(LIBJPEG_TURBO_VERSION));
    printf("libtiff   %.*s\n", (int)strcspn(tiff_number, "\n"), tiff_number);
    printf("giflib    %d.%d.%d\n", GIFLIB_MAJOR, GIFLIB_MINOR, GIFLIB_RELEASE);
}

static Status run_version(const CommandLine *line, Error *err) {
    (void)err;
    printf("vpd %s\n", version_number());
    printf("commit    %s\n", version_commit());
    printf("compiler  %s\n", version_compiler());
    printf("OpenMP    %d, %d thread%s here\n", _OPENMP, line->threads, line->threads == 1 ? "" : "s");
    print_libraries();
    return STATUS_OK;
}

const Command command_version = {
    .name = "version",
    .summary = "show the build and its libraries",
    .arguments = "",
    .run = run_version,
};
