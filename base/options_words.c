// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"

#include <ctype.h>
#include <string.h>

enum { WORD_SIZE = 64 };

static int smallest(int a, int b, int c) {
    int least = a < b ? a : b;
    return least < c ? least : c;
}

static int replaced(char a, char b) {
    return a == b ? 0 : tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : 2;
}

// Twice the edits (insert, delete, replace, swap of neighbours) from a to b, the optimal string alignment distance; a
// letter of the other case is half an edit.
static int distance(const char *a, const char *b) {
    int n = (int)strnlen(a, WORD_SIZE), m = (int)strnlen(b, WORD_SIZE);
    int rows[3][WORD_SIZE + 1];
    for (int j = 0; j <= m; j++) rows[0][j] = 2 * j;
    for (int i = 1; i <= n; i++) {
        int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = 2 * i;
        for (int j = 1; j <= m; j++) {
            now[j] = smallest(last[j] + 2, now[j - 1] + 2, last[j - 1] + replaced(a[i - 1], b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 2 < now[j]) now[j] = before[j - 2] + 2;
        }
    }
    return rows[n % 3][m];
}

const char *options_nearest_word(const char *word, const char *const *words, size_t count) {
    int length = (int)strnlen(word, WORD_SIZE);
    // A quarter of the letters may be wrong, but never all of them.
    int limit = 2 * (1 + length / 4 < length ? 1 + length / 4 : length - 1);
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        int d = distance(word, words[i]);
        if (d > limit) continue;
        nearest = words[i];
        limit = d - 1; // later words must be nearer
    }
    return nearest;
}
