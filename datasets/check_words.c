// SPDX-License-Identifier: Apache-2.0
// The name of each hypothesis of the check, and the remedy.
#include "datasets/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const GUESS_WORDS[GUESS_COUNT][2] = {
    [GUESS_NONE] = {"as it stands", ""},
    [GUESS_RAY_LENGTH] = {"ray length", "depth is the length of the ray; divide it by |Kc^-1 (u, v, 1)|"},
    [GUESS_NOT_RAY_LENGTH] = {"z taken for ray length",
                              "depth along z was taken for the length of the ray; multiply it by |Kc^-1 (u, v, 1)|"},
    [GUESS_OPENGL] = {"OpenGL cameras", "multiply world_from_camera by diag(1, -1, -1, 1) from the right"},
    [GUESS_INVERSE] = {"camera from world", "invert world_from_camera"},
    [GUESS_INVERSE_OPENGL] = {"camera from world, OpenGL", "invert world_from_camera, then multiply by "
                                                           "diag(1, -1, -1, 1) from the right"},
    [GUESS_ROTATION_TRANSPOSED] = {"rotation transposed", "transpose the rotation in world_from_camera and leave its "
                                                          "translation as it is"},
    [GUESS_HALF_PIXEL_LESS] = {"half a pixel less", "subtract 0.5 from cx and cy"},
    [GUESS_HALF_PIXEL_MORE] = {"half a pixel more", "pixel centres lie at whole numbers; add 0.5 to cx and cy"},
    [GUESS_ROWS_FROM_BELOW] = {"rows counted from below",
                               "pixel centres lie at whole numbers, and rows were counted from below (PyBullet's "
                               "TinyRenderer); add 0.5 to cx and subtract 0.5 from cy"},
    [GUESS_MIRRORED] = {"mirrored", "are mirrored left to right; flip them"},
    [GUESS_UPSIDE_DOWN] = {"upside down", "are upside down; flip them"},
    [GUESS_HALF_TURN] = {"turned by 180 degrees", "are turned by 180 degrees; turn them back"},
    [GUESS_TURNED_LEFT] = {"turned left", "are turned by 90 degrees to the left; turn them to the right"},
    [GUESS_TURNED_RIGHT] = {"turned right", "are turned by 90 degrees to the right; turn them to the left"},
    [GUESS_TRANSPOSED] = {"transposed", "have rows and columns exchanged; transpose them"},
    [GUESS_SWAPPED_FOCAL] = {"swapped focal lengths", "fx and fy are swapped"},
    [GUESS_SWAPPED_CENTRE] = {"swapped centre", "cx and cy are swapped"},
    [GUESS_FIELD_OF_HEIGHT] = {"field of view of the height",
                               "the angle of view is that of the height, and fx and fy were computed from the width; "
                               "multiply both by height / width"},
    [GUESS_FIELD_OF_WIDTH] = {"field of view of the width",
                              "the angle of view is that of the width, and fx and fy were computed from the height; "
                              "multiply both by width / height"},
    [GUESS_W_LAST] = {"quaternions w last", "the quaternions had w last and were read as w first"},
    [GUESS_W_FIRST] = {"quaternions w first", "the quaternions had w first and were read as w last"},
    [GUESS_TEXT_ORDER] = {"cameras in the order of their names",
                          "the cameras come in another order than the pictures: 0, 1, 10, 11, ..., 2 for 0, 1, 2"},
    [GUESS_NEXT_CAMERA] = {"cameras in another order", ""},
    [GUESS_EXCHANGED] = {"two cameras exchanged", ""},
    [GUESS_EXCHANGED_POSES] = {"two poses exchanged", ""},
    [GUESS_LATE] = {"pictures and poses of other moments", ""},
    [GUESS_SCALE] = {"another scale", ""},
    [GUESS_DEPTH_BUFFER] = {"depth buffer", ""},
    [GUESS_DISTORTED] = {"distorted pictures", ""},
    [GUESS_OTHER_SIZE] = {"intrinsics of another picture size", ""},
    [GUESS_FOCAL] = {"another focal length", ""},
    [GUESS_STRETCHED_X] = {"another width", ""},
    [GUESS_STRETCHED_Y] = {"another height", ""},
};

const char *guess_name(Guess guess) { return GUESS_WORDS[guess][0]; }

bool guess_scale_of_poses(double number, double depth) {
    bool now = depth >= 0.05 && depth <= 100, then = depth * number >= 0.05 && depth * number <= 100;
    return now && !then;
}

static bool about(double number, double value) { return fabs(log(number / value)) < 0.01; }

static void scale_advice(double number, double depth, char *out, size_t size) {
    bool depth_implausible = depth < 0.05 || depth > 100;
    if (guess_scale_of_poses(number, depth)) {
        bool mm = about(number, 1000);
        snprintf(out, size, "%sdivide the translations of world_from_camera by %.6g",
                 mm ? "poses are in millimetres; " : "poses have another unit than depth; ", number);
    } else if (about(number, 1e-3) && depth_implausible)
        snprintf(out, size, "depth is in millimetres; store metres, or u16 with scale 0.001");
    else if (about(number, 1e3) && depth_implausible)
        snprintf(out, size, "depth was in metres and was taken for millimetres; multiply it by 1000");
    else if (about(number, 0.2))
        snprintf(out, size, "depth has 5000 units in a metre and was read with 1000; multiply it by 0.2");
    else if (about(number, 5))
        snprintf(out, size, "depth has 1000 units in a metre and was read with 5000; multiply it by 5");
    else if (about(number, 2e-4) && depth_implausible)
        snprintf(out, size, "depth has 5000 units in a metre and was stored as it is; multiply it by 0.0002");
    else if (depth_implausible) snprintf(out, size, "depth has another unit than metres; multiply it by %.5g", number);
    else
        snprintf(out, size,
                 "depth and poses differ in scale; multiply the translations of world_from_camera by %.5g if the poses "
                 "are without unit (COLMAP), or multiply depth by %.5g",
                 1 / number, number);
}

static void size_advice(Guess guess, double number, const char *pictures, char *out, size_t size) {
    if (guess == GUESS_OTHER_SIZE)
        snprintf(out, size,
                 "%s have another size than the one that fx, fy, cx and cy are given for; multiply all four "
                 "by %.4g",
                 pictures, number);
    else if (guess == GUESS_FOCAL)
        snprintf(out, size, "%s were taken with another lens or cropped; multiply fx and fy by %.4g", pictures, number);
    else
        snprintf(out, size,
                 "%s are stretched along %s: they show %.4g times the %s that the intrinsics give; crop or pad before "
                 "resizing, or multiply %s by %.4g",
                 pictures, guess == GUESS_STRETCHED_X ? "x" : "y", 1 / number,
                 guess == GUESS_STRETCHED_X ? "width" : "height", guess == GUESS_STRETCHED_X ? "fx" : "fy", number);
}

void guess_advice(Guess guess, const GuessFacts *facts, char *out, size_t size) {
    double number = facts->number;
    const char *pictures = facts->depth_alone ? "the depth pictures alone (not the colour pictures)" : "the pictures";
    int views = facts->views > 0 ? facts->views : 1;
    switch (guess) {
    case GUESS_MIRRORED:
    case GUESS_UPSIDE_DOWN:
    case GUESS_HALF_TURN:
    case GUESS_TURNED_LEFT:
    case GUESS_TURNED_RIGHT:
    case GUESS_TRANSPOSED: snprintf(out, size, "%s %s", pictures, GUESS_WORDS[guess][1]); break;
    case GUESS_NEXT_CAMERA:
        snprintf(out, size,
                 "the cameras come in another order than the pictures: give view v the pose and the intrinsics that "
                 "are stored for view (v + %.0f) modulo %d",
                 number, views);
        break;
    case GUESS_EXCHANGED:
        snprintf(out, size, "the cameras of views %d and %d are exchanged", (int)number / views, (int)number % views);
        break;
    case GUESS_EXCHANGED_POSES:
        snprintf(out, size, "the poses of views %d and %d are exchanged, and their intrinsics are not",
                 (int)number / views, (int)number % views);
        break;
    case GUESS_LATE:
        snprintf(out, size, "pictures and poses are not of the same moment: pair each pose with the picture %.3g s %s",
                 fabs(number) * facts->frame_seconds, number > 0 ? "later" : "earlier");
        break;
    case GUESS_SCALE: scale_advice(number, facts->depth, out, size); break;
    case GUESS_DEPTH_BUFFER:
        snprintf(
            out, size,
            "depth is a renderer's depth buffer, from 0 to 1; store near far / (far - (far - near) buffer) with the "
            "planes of its projection, about near = %.3g m and far = %.3g m, and 0 where the buffer is 1",
            number, facts->far);
        break;
    case GUESS_DISTORTED:
        snprintf(out, size, "%s still have the distortion of the lens, about k1 = %.3f; undistort colour and depth",
                 pictures, number);
        break;
    case GUESS_OTHER_SIZE:
    case GUESS_FOCAL:
    case GUESS_STRETCHED_X:
    case GUESS_STRETCHED_Y: size_advice(guess, number, pictures, out, size); break;
    default: snprintf(out, size, "%s", GUESS_WORDS[guess][1]);
    }
}

static const char *const COLOUR_WORDS[COLOUR_COUNT][2] = {
    [COLOUR_NONE] = {"as it stands", ""},
    [COLOUR_DEPTH_ALONE] = {"depth alone", "the depth pictures alone are meant"},
    [COLOUR_MIRRORED] = {"colour mirrored", "the colour pictures are mirrored left to right against depth; flip them"},
    [COLOUR_UPSIDE_DOWN] = {"colour upside down", "the colour pictures are upside down against depth; flip them"},
    [COLOUR_HALF_TURN] = {"colour turned by 180 degrees",
                          "the colour pictures are turned by 180 degrees (EXIF orientation?); turn them back"},
    [COLOUR_TURNED_LEFT] = {"colour turned left", "the colour pictures are turned by 90 degrees to the left (EXIF "
                                                  "orientation?); turn them to the right"},
    [COLOUR_TURNED_RIGHT] = {"colour turned right", "the colour pictures are turned by 90 degrees to the right (EXIF "
                                                    "orientation?); turn them to the left"},
    [COLOUR_TRANSPOSED] = {"colour transposed", "the colour pictures have rows and columns exchanged; transpose them"},
    [COLOUR_NEXT_VIEW] = {"colour of other views", ""},
    [COLOUR_EXCHANGED] = {"colour of two views exchanged", ""},
    [COLOUR_SHIFTED] = {"colour shifted", ""},
    [COLOUR_ZOOMED] = {"colour of another lens", ""},
    [COLOUR_OTHER_FRAME] = {"colour of another frame", ""},
};

const char *colour_guess_name(ColourGuess guess) { return COLOUR_WORDS[guess][0]; }

void colour_guess_advice(ColourGuess guess, const double number[2], int views, char *out, size_t size) {
    switch (guess) {
    case COLOUR_NEXT_VIEW:
        snprintf(out, size,
                 "the colour pictures come in another order than depth: those of view v belong to view v - "
                 "%.0f",
                 number[0]);
        break;
    case COLOUR_EXCHANGED:
        snprintf(out, size, "the colour pictures of views %d and %d are exchanged", (int)number[0] / views,
                 (int)number[0] % views);
        break;
    case COLOUR_SHIFTED:
        snprintf(out, size,
                 "colour and depth are not registered: the point at (u, v) in depth is at (u %+.1f, v %+.1f) pixels in "
                 "colour; register depth to the colour camera",
                 number[0], number[1]);
        break;
    case COLOUR_ZOOMED:
        snprintf(out, size,
                 "colour and depth come from different lenses and are not registered: colour is %.3g times "
                 "as large; register depth to the colour camera",
                 number[0]);
        break;
    case COLOUR_OTHER_FRAME:
        snprintf(out, size, "the colour that belongs to the depth of a frame is stored %.0f frames %s", fabs(number[0]),
                 number[0] > 0 ? "later" : "earlier");
        break;
    default: snprintf(out, size, "%s", COLOUR_WORDS[guess][1]);
    }
}

static void verdict_of_pass(const CheckReport *report, char *out, size_t size) {
    int compared = 0;
    char episodes[80] = "";
    for (int i = 0; i < report->episode_count; i++) compared += isfinite(report->episodes[i].median);
    if (compared < report->episode_count)
        snprintf(episodes, sizeof episodes, " in %d of %d episodes (the others could not be compared)", compared,
                 report->episode_count);
    snprintf(out, size,
             "pass: median reprojection error %.2f mm%s; the limit is %.1f mm (1 %% of the median depth + 2 mm + "
             "noise), with at most 20 %% of the points seen through",
             1e3 * report->all.median, episodes, 1e3 * report->pass);
}

const char *check_report_word(const CheckReport *report) {
    return check_report_fails(report) ? "FAIL" : report->not_compared ? "not checked" : "pass";
}

void check_report_verdict(const CheckReport *report, char *out, size_t size) {
    int wrong = report->wrong_count;
    if (wrong) snprintf(out, size, "FAIL: %d finding%s wrong (above)", wrong, wrong > 1 ? "s are" : " is");
    else if (report->not_compared)
        snprintf(out, size, "not checked: %s, so wrong cameras or depth would not show", report->not_compared);
    else verdict_of_pass(report, out, size);
}
