// SPDX-License-Identifier: Apache-2.0
// Picture metrics against values from numpy and scipy (the script is in the comment below), masks, means with counts.
#include "infer/metrics.h"
#include "tests/test.h"

enum { H = 19, W = 23, PIXELS = H * W };

// Reference: numpy, scipy 1.17.1; the pictures below; per channel
//   f = lambda z: gaussian_filter(z, 1.5, truncate=3.5); s = SSIM of Wang et al. from f; mean of s[5:-5, 5:-5]
static const double ssim_whole = 0.912057617, ssim_masked = 0.913235062;
static const double psnr_whole = 19.892600779, psnr_masked = 19.417170197;

static uint8_t pattern(int y, int x, int c, int k) {
    return (uint8_t)((x * x * (3 + k) + y * (7 + 2 * k) + x * y + 50 * c + 13 * k * c) % 256);
}

static void draw_pictures(uint8_t *a, uint8_t *b) {
    for (int i = 0; i < PIXELS * 3; i++) {
        int c = i % 3, x = i / 3 % W, y = i / 3 / W;
        a[i] = pattern(y, x, c, 0);
        b[i] = (uint8_t)((a[i] * 3 + pattern(y, x, c, 1)) / 4);
    }
}

static void draw_mask(uint8_t *mask) {
    for (int i = 0; i < PIXELS; i++) mask[i] = i / W >= 6 && i / W < 9 && i % W >= 7 && i % W < 20;
}

static void test_psnr(void **state) {
    (void)state;
    uint8_t a[PIXELS * 3], b[PIXELS * 3], mask[PIXELS], none[PIXELS] = {0};
    double out = -1;
    draw_pictures(a, b);
    draw_mask(mask);
    assert_true(metrics_psnr(a, b, NULL, PIXELS, &out));
    assert_close(out, psnr_whole, 1e-8, 0);
    assert_true(metrics_psnr(a, b, mask, PIXELS, &out));
    assert_close(out, psnr_masked, 1e-8, 0);
    assert_true(metrics_psnr(a, a, NULL, PIXELS, &out));
    assert_close(out, METRICS_PSNR_MAX, 0, 0);
    out = -1;
    assert_false(metrics_psnr(a, b, none, PIXELS, &out));
    assert_false(metrics_psnr(a, b, NULL, 0, &out));
    assert_true(out == -1);
}

static void test_ssim(void **state) {
    (void)state;
    uint8_t a[PIXELS * 3], b[PIXELS * 3], mask[PIXELS], none[PIXELS] = {0};
    float map[PIXELS], *scratch = malloc(metrics_ssim_scratch(H, W) * sizeof(float));
    double out = -1;
    draw_pictures(a, b);
    draw_mask(mask);
    metrics_ssim_map(a, b, H, W, scratch, map);
    assert_true(metrics_ssim(map, NULL, PIXELS, &out));
    assert_close(out, ssim_whole, 2e-6, 0); // float moments: 1e-7 over C2 = 9e-4 times a mean over windows
    assert_true(metrics_ssim(map, mask, PIXELS, &out));
    assert_close(out, ssim_masked, 2e-6, 0);
    out = -1;
    assert_false(metrics_ssim(map, none, PIXELS, &out));
    metrics_ssim_map(a, b, SSIM_WINDOW - 1, W, scratch, map); // too small for one window
    assert_false(metrics_ssim(map, NULL, (SSIM_WINDOW - 1) * W, &out));
    assert_true(out == -1);
    metrics_ssim_map(a, a, H, W, scratch, map);
    assert_true(metrics_ssim(map, NULL, PIXELS, &out));
    assert_close(out, 1, 1e-6, 0);
    free(scratch);
}

// A planted error: the reference must not fit a metric that is a little wrong.
static void test_planted_error(void **state) {
    (void)state;
    uint8_t a[PIXELS * 3], b[PIXELS * 3];
    float map[PIXELS], *scratch = malloc(metrics_ssim_scratch(H, W) * sizeof(float));
    double out;
    draw_pictures(a, b);
    b[3 * (10 * W + 10)] ^= 8; // one channel of one pixel
    metrics_ssim_map(a, b, H, W, scratch, map);
    assert_true(metrics_ssim(map, NULL, PIXELS, &out));
    assert_false(test_close(out, ssim_whole, 2e-6, 0));
    assert_true(metrics_psnr(a, b, NULL, PIXELS, &out));
    assert_false(test_close(out, psnr_whole, 1e-8, 0));
    assert_false(test_close(NAN, 0, 1e9, 1));
    free(scratch);
}

static void test_depth(void **state) {
    (void)state;
    float a[6] = {1, 2, 0, NAN, 5, 3}, b[6] = {1.5f, 2.25f, 4, 1, 0, -1};
    uint8_t second[6] = {0, 1, 1, 1, 1, 1}, third[6] = {0, 0, 1, 1, 1, 1};
    double out = -1;
    assert_true(metrics_depth_error(a, b, NULL, 6, &out));
    assert_close(out, 0.375, 1e-12, 0);
    assert_true(metrics_depth_error(a, b, second, 6, &out));
    assert_close(out, 0.25, 1e-12, 0);
    out = -1;
    assert_false(metrics_depth_error(a, b, third, 6, &out));
    assert_true(out == -1);
}

static size_t count_set(const uint8_t *mask) {
    size_t count = 0;
    for (size_t i = 0; i < PIXELS; i++) count += mask[i];
    return count;
}

static void test_masks(void **state) {
    (void)state;
    uint16_t ids[PIXELS] = {0};
    uint8_t a[PIXELS * 3], b[PIXELS * 3], mask[PIXELS], wide[PIXELS];
    ids[0] = 2;
    ids[9 * W + 11] = 300;
    mask_from_objects(ids, PIXELS, mask);
    assert_int_equal(count_set(mask), 2);
    // Inside: a square of 5 x 5; in the corner only the 3 x 3 within the picture.
    mask_dilate(mask, H, W, 2, wide);
    assert_int_equal(count_set(wide), 25 + 9);
    assert_true(wide[7 * W + 9] && wide[11 * W + 13] && wide[2 * W + 2] && !wide[3 * W] && !wide[12 * W + 11]);
    mask_dilate(mask, H, W, 0, wide);
    assert_int_equal(count_set(wide), 2);
    draw_pictures(a, b);
    memcpy(b, a, sizeof b);
    b[3 * 40 + 1] = (uint8_t)(a[3 * 40 + 1] < 128 ? a[3 * 40 + 1] + 26 : a[3 * 40 + 1] - 26); // 0.102
    b[3 * 41] = (uint8_t)(a[3 * 41] < 128 ? a[3 * 41] + 25 : a[3 * 41] - 25);                 // 0.098
    mask_from_change(a, b, PIXELS, mask);
    assert_int_equal(count_set(mask), 1);
    assert_true(mask[40]);
    memset(wide, 0, sizeof wide);
    mask_and(mask, NULL, PIXELS);
    assert_int_equal(count_set(mask), 1);
    mask_and(mask, wide, PIXELS);
    assert_int_equal(count_set(mask), 0);
}

static void test_means(void **state) {
    (void)state;
    Mean mean = {0}, other = {0};
    assert_true(isnan(mean_value(&mean)) && isnan(mean_deviation(&mean)));
    mean_add(&mean, 1);
    mean_add(&mean, NAN);
    mean_add(&other, 4);
    mean_add(&other, INFINITY);
    mean_merge(&mean, &other);
    assert_close(mean_value(&mean), 2.5, 1e-15, 0);
    assert_close(mean_deviation(&mean), sqrt(4.5), 1e-12, 0);
    assert_int_equal(mean.count, 2);
    assert_int_equal(mean.rejected, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_psnr),  cmocka_unit_test(test_ssim),  cmocka_unit_test(test_planted_error),
        cmocka_unit_test(test_depth), cmocka_unit_test(test_masks), cmocka_unit_test(test_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
