// SPDX-License-Identifier: Apache-2.0
// Which build this is; written into checkpoints and shown by `vpd --version`.
#ifndef VPD_BASE_VERSION_H
#define VPD_BASE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

const char *version_number(void);   // "0.1.0"
const char *version_commit(void);   // "aed5ca6b1f2e"; with "+" when built from changed files; "unknown" outside git
const char *version_compiler(void); // "gcc 12.2.0"

#ifdef __cplusplus
}
#endif

#endif
