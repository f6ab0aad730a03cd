# SPDX-License-Identifier: Apache-2.0
"""Philox 4x32-10 in numpy, bit for bit as base/random.h."""
import numpy as np

INIT, EPISODE, PARTICLES, NODES, RAYS, JITTER, NOISE, TEST, VIEWS, NEAREST, FLOW, TURN = range(1, 13)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def random4(seed, purpose, step, episode, index):
    """(n, 4) uint32 for the 64-bit indices `index` (n)."""
    index = np.atleast_1d(np.asarray(index)).astype(np.uint64)
    c0, c1 = index & _LOW, index >> _32
    c2 = np.full_like(c0, int(step) & 0xFFFFFFFF)
    c3 = np.full_like(c0, int(episode) & 0xFFFFFFFF)
    k0, k1 = int(seed) & 0xFFFFFFFF, int(purpose)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        n0 = (p1 >> _32) ^ c1 ^ np.uint64(k0)
        n2 = (p0 >> _32) ^ c3 ^ np.uint64(k1)
        c0, c1, c2, c3 = n0, p1 & _LOW, n2, p0 & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], 1).astype(np.uint32)


def uniform(seed, purpose, step, episode, index):
    """float32 in [0, 1) with 24 bits."""
    bits = random4(seed, purpose, step, episode, index)[:, 0]
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0 ** -24)


def key64(seed, purpose, step, episode, index):
    """64-bit keys v[0] * 2^32 + v[1], for choices by smallest key."""
    v = random4(seed, purpose, step, episode, index).astype(np.uint64)
    return (v[:, 0] << _32) | v[:, 1]
