// SPDX-License-Identifier: Apache-2.0
// Proofs by which pages of an earlier server get in again, and the file of their key.
#include "tests/test.h"
#include "view/again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// RFC 4231, cases 1 and 2, and one whose text fills blocks (Python's hmac).
static void test_hmac(void **state) {
    char out[HMAC_SIZE];
    (void)state;
    hmac_sha256("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b", "Hi There", out);
    assert_string_equal(out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac_sha256("Jefe", "what do ya want for nothing?", out);
    assert_string_equal(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    for (int n = 54; n < 66; n++) {
        static const char *const wanted[] = {"7d59f4004edc5376c64fe381f2aa2586d5d0cf6c02c754df70c7da28129b2fda",
                                             "899a5369750daa40016190882a6dcb9b5c40778cc8a4491acf41f01d14164640",
                                             "5794f7ee51a235c99ad5edc7db873cabccac6b7dcc00ddb74059cad8f6a448f7",
                                             "6929d1086dd479f047fffa4038d8ca470ad7d7230f2feedd05977b9449c69186",
                                             "677d4d36c7707f2afa785ff986589556ced555e125e0d6e93c127e3e192b0dec",
                                             "4e436b454835ba5c5878a8cfde4a92f79e5f4cdd76d488b8bd09c3579db70668",
                                             "c4e600338181a0012771009470d3d1543405ef63329bb56f8b03ba54631f0ed3",
                                             "722a09bb618a0ae26bb587a9adffdf76797de9967061d3945647fb46369ef656",
                                             "15ffc2b86f2f37c4f506617540f6c955b1eed075d9ca54cb9470159928134826",
                                             "46013100d2a25cc0e2910497d9fa5098fdc2948332b13a8b3c1747b26727aaec",
                                             "d4bb021671b50c24183d01162981a7e5e622b47bf8c05c66cbd2be785cc35962",
                                             "10662d36a95eb7250e39a8d73c2648dffbceadd9821c2919dd39932f2b27b990"};
        char text[80] = "";
        memset(text, 'a', (size_t)n);
        hmac_sha256("0123456789abcdef0123456789abcdef", text, out);
        assert_string_equal(out, wanted[n - 54]);
    }
}

static void page_proof(const Again *a, const char *place, char out[HMAC_SIZE]) {
    char text[160];
    snprintf(text, sizeof text, "page %s %s", place, a->nonce);
    hmac_sha256(a->key, text, out);
}

static void test_proofs(void **state) {
    Again a, b;
    Error err;
    char proof[HMAC_SIZE], other[HMAC_SIZE];
    (void)state;
    assert_status_ok(again_open(8317, &a, &err), err);
    assert_status_ok(again_open(8317, &b, &err), err);
    assert_string_equal(a.key, b.key);
    assert_string_not_equal(a.nonce, b.nonce);
    page_proof(&a, "127.0.0.1:8317", proof);
    assert_true(again_accepts(&a, proof));
    assert_false(again_accepts(&b, proof)); // of another server's question
    page_proof(&a, "127.0.0.1:8318", proof);
    assert_false(again_accepts(&a, proof)); // passed on from another port
    assert_false(again_accepts(&a, NULL));
    assert_false(again_accepts(&a, ""));
    assert_true(again_prove(&a, "0123456789abcdef0123456789abcdef", proof));
    assert_true(again_prove(&b, "0123456789abcdef0123456789abcdef", other));
    assert_string_not_equal(proof, other);
    assert_false(again_accepts(&a, proof)); // the server's own words
    assert_false(again_prove(&a, NULL, proof));
    assert_false(again_prove(&a, "0123456789abcdef 123456789abcdef", proof));
}

static char folder[] = "/tmp/vpd-again-XXXXXX", file[64], other[64];

static void test_file(void **state) {
    Again a, b;
    Error err;
    struct stat info;
    (void)state;
    assert_status_ok(again_open(8400, &a, &err), err);
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    chmod(file, 0644); // others can read it: it is no secret
    assert_status_ok(again_open(8400, &b, &err), err);
    assert_string_not_equal(a.key, b.key);
    chmod(file, 0600);
    assert_status_ok(again_open(8400, &b, &err), err);
    assert_string_equal(a.key, b.key);
    assert_int_equal(rename(file, other), 0); // a link to a good file is none
    assert_int_equal(symlink(other, file), 0);
    assert_status_ok(again_open(8400, &b, &err), err);
    assert_string_not_equal(a.key, b.key);
    unlink(file);
    unsetenv("XDG_RUNTIME_DIR");
    assert_status_ok(again_open(8400, &a, &err), err);
    assert_status_ok(again_open(8400, &b, &err), err);
    assert_string_not_equal(a.key, b.key);
    assert_int_not_equal(stat(file, &info), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hmac), cmocka_unit_test(test_proofs),
                                       cmocka_unit_test(test_file)};
    char command[64];
    if (!mkdtemp(folder)) return 1;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    snprintf(file, sizeof file, "%s/vpd/view_8400", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? failed : 1;
}
