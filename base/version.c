// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

#include "base/commit.h"

const char *version_number(void) { return VPD_VERSION; }

const char *version_commit(void) { return VPD_COMMIT; }

const char *version_compiler(void) {
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}
