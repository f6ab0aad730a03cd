// SPDX-License-Identifier: Apache-2.0
// What a list of edits may say, and what is said about one that is wrong; YAML as a tree.
#include "base/yaml.h"
#include "edit/edit.h"
#include "tests/test.h"

static Status parse(const char *text, Error *err) {
    EditList *list = edit_list_create();
    Status status = edit_list_parse(list, text, strlen(text), "e.yaml", ".", err);
    edit_list_free(list);
    return status;
}

static void test_good(void **state) {
    Error err;
    (void)state;
    assert_status_ok(parse("version: 1\nedits: []\n", &err), err);
    assert_status_ok(
        parse("edits:\n  # a comment\n  - remove: {label: 2}\n  - copy:\n      box:\n        min: [0, 0, 0]\n"
              "        max: [1, 1, 1]\n      by: [1, -1e-1, +2]\n      count: 3\nversion: 1\n",
              &err),
        err);
}

static void test_wrong(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "e.yaml:1: expected \"version: 1\" and \"edits:\" with a list"},
        {"edits: []\n", "e.yaml:1: \"version: 1\" is missing: expected a list of edits"},
        {"version: 2\nedits: []\n", "e.yaml:1: this list of edits has version 2, but this program reads version 1"},
        {"version: one\nedits: []\n", "version: expected a number such as 1"},
        {"version: 1\n", "expected \"edits:\" with a list of edits"},
        {"version: 1\nedit: []\n", "e.yaml:2: unknown key \"edit\"; did you mean \"edits\"?"},
        {"version: 1\nedits: [remove]\n",
         "expected one edit such as \"remove: {label: 2}\", found something else than a map"},
        {"version: 1\nedits: [{}]\n", "found an empty map"},
        {"version: 1\nedits: [{remove: {label: 1}, keep: {label: 2}}]\n", "found a map of several entries"},
        {"version: 1\nedits:\n- remov: {label: 1}\n", "e.yaml:3: unknown edit \"remov\"; did you mean \"remove\"?"},
        {"version: 1\nedits: [{remove: {lable: 1}}]\n", "unknown key or selection \"lable\"; did you mean \"label\"?"},
        {"version: 1\nedits: [{explode: {label: 1}}]\n",
         "unknown edit \"explode\"; expected one of remove, keep, move"},
        {"version: 1\nedits: [{remove: {}}]\n",
         "remove: expected a selection of particles (`all: true` takes every one)"},
        {"version: 1\nedits: [{remove: 2}]\n", "remove: expected a map {key: value, ..}, found 2"},
        {"version: 1\nedits: [{move: {label: 1}}]\n", "move: \"by\" is missing"},
        {"version: 1\nedits: [{move: {label: 1, by: [0, .nan, 1]}}]\n",
         "by: expected 3 finite numbers, found \".nan\" among them"},
        {"version: 1\nedits: [{move: {label: 1, by: [0, 1]}}]\n", "to 1000000, found a list of 2"},
        {"version: 1\nedits: [{remove: {label: []}}]\n", "label: expected a list of labels [1, 2]; this one is empty"},
        {"version: 1\nedits: [{scale: {label: 1, factor: 0}}]\n",
         "factor: expected a finite number from 0.001 to 1000, found 0"},
        {"version: 1\nedits: [{scale: {label: 1, factor: inf}}]\n", "found inf"},
        {"version: 1\nedits: [{rotate: {label: 1, axis: [0, 0, 0], angle: 1}}]\n",
         "expected an axis of non-zero length"},
        {"version: 1\nedits: [{copy: {label: 1, by: [0, 0, 1], count: 1.5}}]\n",
         "count: expected a whole number from 1 to 1000"},
        {"version: 1\nedits: [{throw: {label: 1, velocity: [0, 0, 1], replace: maybe}}]\n",
         "replace: expected true or false"},
        {"version: 1\nedits: [{remove: {label: 1, if_empty: ignore}}]\n", "if_empty: expected fail|skip, found ignore"},
        {"version: 1\nedits: [{remove: {box: {min: [1, 0, 0], max: [0, 1, 1]}}}]\n", "box: expected min <= max"},
        {"version: 1\nedits: [{remove: {plane: {point: [0, 0, 0], normal: [0, 0, 0]}}}]\n",
         "a normal of non-zero length"},
        {"version: 1\nedits: [{remove: {height: {}}}]\n", "height: expected \"above\", \"below\" or both"},
        {"version: 1\nedits: [{remove: {height: {above: 2, below: 1}}}]\n", "height: expected above < below"},
        {"version: 1\nedits: [{remove: {cluster: {}}}]\n", "cluster: expected either \"id\" or \"near\""},
        {"version: 1\nedits: [{remove: {or: {label: 1}}}]\n", "or: expected a list of selections"},
        {"version: 1\nedits: [{remove: {not: {}}}]\n", "expected a selection, found an empty map"},
        {"version: 1\nedits: [{remove: {all: false}}]\n", "all: expected true"},
        {"version: 1\nedits: [{remove: {sphere: {centre: [0, 0, 0], radius: -1}}}]\n",
         "radius: expected a finite number from 0"},
        {"version: 1\nedits: [{remove: {pixel: {view: 0, at: [1, 2], take: all}}}]\n",
         "take: expected label|cluster|particle"},
        {"version: 1\nedits: [{recolour: {label: 1}}]\n", "recolour: \"like\" is missing"},
        {"version: 1\nedits: [{label: {height: {above: 0}}}]\n", "label: \"as\" is missing"},
        {"version: 1\nedits: [{cluster: {floor: sea}}]\n",
         "floor: expected plane, none, or a height in metres, found sea"},
        {"version: 1\nversion: 1\nedits: []\n", "e.yaml:2: version: given twice"},
        {"version: 1\nedits: [*a]\n", "anchors (&) and aliases (*) are not allowed"},
        {"version: !!int 1\nedits: []\n", "tags (!) are not allowed"},
        {"version: 1\nedits: [\n", "not valid YAML"},
        {"version: 1\nedits: []\n---\nversion: 1\n", "expected one YAML document, found more"},
        {"version: 1\nedits: [{label: {all: true, as: \"a\\nb\"}}]\n",
         "a text holds a control character or a line end"},
        {"version: 1\nedits: [[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]\n", "nested too deeply"},
    };
    Error err;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_status_error(parse(cases[i].text, &err), STATUS_BAD_INPUT, err, cases[i].words);
}

// What is written on one line reads as what it was written from.
static void test_flow(void **state) {
    const char *text = "a: [1, -2e3, 'it''s', {x: \"q \\\"\\\\ é\"}]\n'b: c': {}\nd: ~\ne: \"- f\"\ng: ''\n";
    YamlNode *root, *again;
    Error err;
    (void)state;
    assert_status_ok(yaml_tree_read(text, strlen(text), "t", &root, &err), err);
    char *flow = yaml_tree_flow(root);
    assert_string_equal(flow,
                        "{a: [1, -2e3, \"it's\", {x: \"q \\\"\\\\ é\"}], \"b: c\": {}, d: \"~\", e: \"- f\", g: \"\"}");
    assert_status_ok(yaml_tree_read(flow, strlen(flow), "t", &again, &err), err);
    char *same = yaml_tree_flow(again);
    assert_string_equal(flow, same);
    free(flow);
    free(same);
    yaml_tree_free(root);
    yaml_tree_free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_wrong),
                                       cmocka_unit_test(test_flow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
