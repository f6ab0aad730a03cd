# SPDX-License-Identifier: Apache-2.0
"""Options and lengths, named as in docs/model.md (dots become underscores)."""
from dataclasses import dataclass, field, replace


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
    form: str = "full" # paper | full; determines the fields below
    graph: str = "hierarchical"      # hierarchical | flat | none
    nodes: str = "moving"            # random | moving
    distance: str = "appearance"     # position | appearance
    moving_flag: bool = True
    node_extras: bool = True
    gap: bool = True # moving nodes see distance and closing speed to the nearest static surface and to another body
    velocity: str = "node"           # none | particle | node
    rigid_cue: bool = True # node velocities and angular velocities from rigid registration
    smooth: bool = None              # None: without rigid_cue
    decode: str = "node"             # particle | node
    rotation: bool = False
    feature_change: float = 0.0
    gain_start: float = None # added to the gain; None: 1 if nodes predict a rotation, else 0
    moving_vote: int = 16 # neighbours in the majority filter of m, nearest in (position, lc rgb); 0: unfiltered
    k_particle_to_node: int = 3
    k_node_to_node: int = 10
    k_node_to_particle: int = 4
    cross_edges: int = 4
    contact_edges: int = 4           # edges from the nodes nearest in position that move differently,
    contact_speed: float = 0.5       # by at least this many s per frame
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
    lm: float = 0.0
    wd: float = 0.0
    ws: float = 0.0
    r: float = 0.05
    zm: float = 0.0
    seed: int = 1

    def __post_init__(self):
        for name, share in (("ell", .05), ("s", .025), ("lc", .5), ("lm", .15), ("wd", .05), ("ws", .075), ("zm", .00125)):
            if not getattr(self, name):
                setattr(self, name, share * self.X)
        if self.smooth is None:
            self.smooth = not self.rigid_cue
        if self.gain_start is None:
            self.gain_start = 1.0 if self.has_spin and self.decode == "node" else 0.0

    @property
    def has_velocity(self):
        return self.velocity != "none" and self.T > 1

    @property
    def has_gap(self):
        return self.gap and self.moving_flag and self.graph == "hierarchical"

    @property
    def gap_width(self):
        return 0 if not self.has_gap else 24 if self.has_spin else 7

    @property
    def has_node_velocity(self):
        return self.has_velocity and self.velocity == "node" and self.graph == "hierarchical"

    @property
    def has_spin(self):
        return self.rigid_cue and self.has_node_velocity

    @property
    def S_in(self):
        """Number of components of s_i."""
        return self.D + self.T + (1 if self.moving_flag else 0)

    @property
    def delta(self):
        return 0.4 * self.r

    @property
    def feature_outputs(self):
        return (self.D - 3 if self.carry_rgb else self.D) if self.feature_change > 0 else 0


def paper(**options):
    """The paper form: random nodes, distances in position, decode at particles."""
    base = dict(form="paper", nodes="random", distance="position", moving_flag=False, node_extras=False,
                velocity="none", smooth=False, decode="particle", cross_edges=0, contact_edges=0, moving_vote=0, rigid_cue=False,
                gap=False)
    return Config(**{**base, **options})


def full(**options):
    return Config(**{**dict(form="full"), **options})


REFERENCE = dict(C=128, L=10, D=16, widths=(32, 64, 128, 256), K=8, S=16, hidden=64)
PRESETS = { # shapes for benchmarks, as in model/config_presets.c: config, views, image, steps, rays per image
    "tiny": (dict(N=2048, M=128, **REFERENCE), 2, 64, 3, 128),
    "small": (dict(N=4096, M=256, **REFERENCE), 4, 64, 4, 256),
    "paper": (dict(N=16384, M=1024, **REFERENCE), 4, 128, 6, 256),
}
