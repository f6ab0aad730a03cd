// SPDX-License-Identifier: Apache-2.0
// Rollouts exported as USD: every sample, colours, surfaces and springs.
#include "tests/infer_export.h"

static size_t count(const char *text, const char *end, char what) {
    size_t out = 0;
    for (; text < end; text++) out += *text == what;
    return out;
}

static void usda(void **state) {
    (void)state;
    Error err = {0};
    for (int all = 0; all < 2; all++) {
        RolloutFile r = make_rollout(STEPS, all);
        size_t length;
        assert_status_ok(export_usda(&r, place("a.usda"), &err), err);
        char *text = read_all(place("a.usda"), &length), *end = text + length;
        assert_memory_equal(text, "#usda 1.0\n", 10);
        for (const char *pair = "(){}[]"; *pair; pair += 2)
            assert_int_equal(count(text, end, pair[0]), count(text, end, pair[1]));
        assert_non_null(strstr(text, "endTimeCode = 3\n"));
        assert_non_null(strstr(text, "timeCodesPerSecond = 4\n"));
        char *at = strstr(text, "point3f[] points.timeSamples = {");
        assert_non_null(at);
        for (size_t step = 0; step <= STEPS; step++) {
            char key[16];
            snprintf(key, sizeof key, "        %zu: [", step);
            at = strstr(at, key);
            assert_non_null(at);
            at += strlen(key);
            for (size_t i = 0; i < 3 * N; i++) {
                at += strspn(at, "(), ");
                assert_true(strtof(at, &at) == rollout_positions(&r, step)[i]);
            }
            assert_int_equal(strspn(at, ")],"), 3);
        }
        assert_int_equal(strstr(text, "int[] primvars:label = [0, 300, 600, 900, 1200] (") != NULL, all);
        assert_int_equal(strstr(text, "color3f[] primvars:displayColor = [(0, 0.0056") != NULL, all);
        assert_int_equal(strstr(text, "float[] widths = [0.25, 0.75, ") != NULL, all);
        free(text);
        rollout_file_free(&r);
    }
    RolloutFile r = make_rollout(0, true);
    assert_status_error(export_usda(&r, "/dev/null/a.usda", &err), STATUS_BAD_INPUT, err, "/dev/null/a.usda");
    rollout_file_free(&r);
}

static void usda_surface(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_simulated(STEPS);
    memcpy(r.sets[0].colour, (uint8_t[]){255, 0, 0, 255, 0, 0, 255, 0, 0}, 9); // the flag's; the chain has two
    assert_status_ok(export_usda(&r, place("s.usda"), &err), err);
    char *text = read_all(place("s.usda"), &length), *end = text + length;
    for (const char *pair = "(){}[]"; *pair; pair += 2)
        assert_int_equal(count(text, end, pair[0]), count(text, end, pair[1]));
    assert_non_null(strstr(text, "defaultPrim = \"scene\""));
    char *flag = strstr(text, "def Mesh \"flag\""), *chain = strstr(text, "def Xform \"_2_links\""),
         *springs = strstr(text, "def BasisCurves \"_2_links_springs\"");
    assert_true(flag && chain && springs && flag < chain && chain < springs);
    assert_non_null(strstr(flag, "rel material:binding = </scene/materials/flag>"));
    assert_non_null(strstr(flag, "int[] faceVertexIndices = [0, 2, 1]"));
    assert_non_null(strstr(springs, "int[] curveVertexCounts = [2]"));
    assert_non_null(strstr(springs, "int[] primvars:label = [2, 2]"));
    assert_non_null(strstr(springs, "def Material \"flag\""));
    assert_null(strstr(springs, "def Material \"_2_links\""));
    char *at = strstr(springs, "point3f[] points.timeSamples"), *of = at ? strstr(at, " 3: [(") : NULL;
    assert_non_null(of);
    of += strlen(" 3: [(");
    for (int c = 0; c < 3; c++, of += 2) // from particle 4 on
        assert_true(strtof(of, &of) == rollout_positions(&r, 3)[12 + c]);
    free(text);
    rollout_file_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usda),
        cmocka_unit_test(usda_surface),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
