// SPDX-License-Identifier: Apache-2.0
// HMAC with SHA-256 (FIPS 180-4, RFC 2104) of short texts.
#ifndef VPD_VIEW_HMAC_H
#define VPD_VIEW_HMAC_H

enum { HMAC_SIZE = 65 }; // 64 hexadecimal digits and a NUL

// `key`: at most 64 characters.
void hmac_sha256(const char *key, const char *text, char out[HMAC_SIZE]);

#endif
