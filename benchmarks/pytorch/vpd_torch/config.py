# SPDX-License-Identifier: Apache-2.0
"""Options and lengths, named as in docs/model.md (dots become underscores)."""
from dataclasses import dataclass


@dataclass
class Config:
    # sizes
    T: int = 2
    N: int = 4096
    M: int = 128
    D: int = 16
    C: int = 64
    L: int = 4
    activation: str = "silu"
    # encoder
    widths: tuple = (16, 32, 64, 128)
    depth_input: bool = False
    carry_rgb: bool = True
    sampling: str = "voxel"          # uniform | voxel
    moving_share: float = 0.25       # of N, first, on points with m = 1 (voxel)
    inside_share: float = 0.7        # of the rest
    crop: bool = False
    # gnn
    graph: str = "hierarchical"      # hierarchical | flat | none
    feature_change: float = 0.0
    moving_vote: int = 16 # neighbours in the majority filter of m, nearest in (position, lc rgb); 0: unfiltered
    k_particle_to_node: int = 3
    k_node_to_node: int = 10
    k_node_to_particle: int = 4
    # renderer
    radius_per_particle: bool = True
    K: int = 8
    S: int = 16
    near: float = 0.1
    far: float = 10.0
    hidden: int = 64
    view_direction: bool = False
    background: str = "mean"         # mean | learned | direction
    # lengths, metres
    X: float = 2.0
    ell: float = 0.0
    s: float = 0.0
    lc: float = 0.0
    r: float = 0.05
    zm: float = 0.0
    seed: int = 1

    def __post_init__(self):
        for name, share in (("ell", .05), ("s", .025), ("lc", .5), ("zm", .0025)):
            if not getattr(self, name):
                setattr(self, name, share * self.X)

    @property
    def S_in(self):
        """Number of components of s_i."""
        return self.D + self.T

    @property
    def delta(self):
        return 0.4 * self.r

    @property
    def feature_outputs(self):
        return (self.D - 3 if self.carry_rgb else self.D) if self.feature_change > 0 else 0


REFERENCE = dict(C=128, L=10, D=16, widths=(32, 64, 128, 256), K=8, S=16, hidden=64)
PRESETS = { # shapes for benchmarks, as in model/config_presets.c: config, views, image, steps, rays per image
    "tiny": (dict(N=2048, M=128, **REFERENCE), 2, 64, 3, 128),
    "small": (dict(N=4096, M=256, **REFERENCE), 4, 64, 4, 256),
    "paper": (dict(N=16384, M=1024, **REFERENCE), 4, 128, 6, 256),
}
