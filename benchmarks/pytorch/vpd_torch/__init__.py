# SPDX-License-Identifier: Apache-2.0
"""The model of docs/model.md in PyTorch: reference values for the C program's tests, and comparison in benchmarks."""
