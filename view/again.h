// SPDX-License-Identifier: Apache-2.0
// Pages that outlive their server. A key stays in a file that its user alone can read while servers come and go on a
// port. A page that one of them let in knows the key. The next one and the page prove to each other that they know it,
// and neither tells it: another user's program on that port learns nothing, and cannot pass on what it is asked, since
// proofs name the place. Without a folder for such files ($XDG_RUNTIME_DIR) every server has a key of its own.
#ifndef VPD_VIEW_AGAIN_H
#define VPD_VIEW_AGAIN_H

#include "base/error.h"
#include "view/hmac.h"

#include <stdbool.h>

enum { SECRET_BYTES = 16, SECRET_SIZE = 2 * SECRET_BYTES + 1 };

// Random hexadecimal digits.
Status secret_make(char out[SECRET_SIZE], Error *err);
// In constant time; `given` may be NULL.
bool secret_same(const char *given, const char *secret);

typedef struct Again {
    char key[SECRET_SIZE], nonce[SECRET_SIZE], place[32]; // 127.0.0.1:PORT
} Again;

Status again_open(int port, Again *out, Error *err);
// What the server says to a page that sent `nonce`: the proof, by HMAC, of "server PLACE NONCE OUR-NONCE".
bool again_prove(const Again *again, const char *nonce, char out[HMAC_SIZE]);
// Whether a page's proof is that of "page PLACE OUR-NONCE".
bool again_accepts(const Again *again, const char *proof);

#endif
