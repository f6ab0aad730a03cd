// SPDX-License-Identifier: Apache-2.0
// Stands in for a folder that has no source file: CMake wants at least one in an object library.
