// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

unsigned long text_next(const unsigned char **text) {
    static const unsigned long least[] = {0, 0x80, 0x800, 0x10000};
    unsigned char first = *(*text)++;
    if (first < 0x80) return first;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    unsigned long point = first & (0x3Fu >> more);
    for (int i = 0; i < more; i++) {
        if ((**text & 0xC0) != 0x80) return 0;
        point = point << 6 | (*(*text)++ & 0x3F);
    }
    bool surrogate = point >= 0xD800 && point < 0xE000;
    return point < least[more] || point > 0x10FFFF || surrogate ? 0 : point;
}

bool text_is_plain(const char *text) {
    for (const unsigned char *cursor = (const unsigned char *)text; *cursor;) {
        unsigned long c = text_next(&cursor);
        if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029) return false;
        if (c == 0xFEFF || c == 0xFFFE || c == 0xFFFF) return false;
    }
    return true;
}

bool text_number(const char *text, double *out) {
    char *end;
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false;
    *out = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*out);
}
