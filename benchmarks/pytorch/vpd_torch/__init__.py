# SPDX-License-Identifier: Apache-2.0
"""The model of docs/model.md in PyTorch: reference of the C program's tests and its rival in benchmarks."""
