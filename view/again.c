// SPDX-License-Identifier: Apache-2.0
#include "view/again.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same(const char *given, const char *secret, size_t size) {
    size_t length = given ? strlen(given) : 0;
    unsigned char different = length != size;
    for (size_t i = 0; i < size; i++)
        different |= (unsigned char)(given && i < length ? given[i] : 0) ^ (unsigned char)secret[i];
    return different == 0;
}

bool secret_same(const char *given, const char *secret) { return same(given, secret, SECRET_SIZE - 1); }

Status secret_make(char out[SECRET_SIZE], Error *err) {
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return error_set(err, STATUS_FAILED, "cannot get random numbers for a token: %s", strerror(errno));
    for (size_t i = 0; i < SECRET_BYTES; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return STATUS_OK;
}

static bool is_secret(const char *text) {
    return text && strlen(text) == SECRET_SIZE - 1 && strspn(text, "0123456789abcdef") == SECRET_SIZE - 1;
}

static bool is_ours_alone(const struct stat *info) { return info->st_uid == geteuid() && (info->st_mode & 077) == 0; }

// The user's folder for files that last until the end of the session.
static bool find_folder(char out[FILE_PATH_SIZE]) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat info;
    if (!runtime || *runtime != '/' || file_join(out, FILE_PATH_SIZE, runtime, "vpd", NULL) != STATUS_OK) return false;
    if (mkdir(out, 0700) != 0 && errno != EEXIST) return false;
    return lstat(out, &info) == 0 && S_ISDIR(info.st_mode) && is_ours_alone(&info);
}

static bool read_key(int fd, char key[SECRET_SIZE]) {
    struct stat info;
    bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_ours_alone(&info) &&
                read(fd, key, SECRET_SIZE - 1) == SECRET_SIZE - 1;
    key[SECRET_SIZE - 1] = 0;
    return good && is_secret(key);
}

// The key of an earlier server, or this one's for later ones. A file that is not as it should be is left alone.
static void share_key(int port, char key[SECRET_SIZE]) {
    char folder[FILE_PATH_SIZE], path[FILE_PATH_SIZE], name[32], kept[SECRET_SIZE];
    snprintf(name, sizeof name, "view_%d", port);
    if (!find_folder(folder) || file_join(path, sizeof path, folder, name, NULL) != STATUS_OK) return;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && read_key(fd, kept)) memcpy(key, kept, SECRET_SIZE);
    if (fd < 0) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 && write(fd, key, SECRET_SIZE - 1) != SECRET_SIZE - 1) unlink(path);
    }
    if (fd >= 0) close(fd);
}

Status again_open(int port, Again *out, Error *err) {
    Status status = secret_make(out->key, err);
    if (status == STATUS_OK) status = secret_make(out->nonce, err);
    snprintf(out->place, sizeof out->place, "127.0.0.1:%d", port);
    if (status == STATUS_OK) share_key(port, out->key);
    return status;
}

bool again_prove(const Again *again, const char *nonce, char out[HMAC_SIZE]) {
    char text[160];
    if (!is_secret(nonce)) return false;
    snprintf(text, sizeof text, "server %s %s %s", again->place, nonce, again->nonce);
    hmac_sha256(again->key, text, out);
    return true;
}

bool again_accepts(const Again *again, const char *proof) {
    char text[160], wanted[HMAC_SIZE];
    snprintf(text, sizeof text, "page %s %s", again->place, again->nonce);
    hmac_sha256(again->key, text, wanted);
    return same(proof, wanted, HMAC_SIZE - 1);
}
