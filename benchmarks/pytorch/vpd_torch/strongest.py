# SPDX-License-Identifier: Apache-2.0
"""The strongest PyTorch we know for a training step: on the device alone, all pictures of a rollout drawn at once, products in
bfloat16, the whole step as one CUDA graph, with and without torch.compile. What is doubtful favours PyTorch: images, clouds and the
rays of all pixels are on the device from the start, and random choices are the device's own."""
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from . import data, encoder, gnn, renderer, static
from .host import device, to_device


@dataclass
class Choices:
    """The random choices of a step."""
    particles: list          # T x (N) of a cloud
    nodes: torch.Tensor      # (rollout steps, M) particles
    pixels: torch.Tensor     # (pictures, rays) in (view, row, column)
    jitter: torch.Tensor     # (pictures, rays)


class Flat:
    """Parameters as parts of one tensor: one kernel rounds them all, one gathers their gradients, one updates them. Weights of
    convolutions lie in the order that tensor cores read (channels last), and every parameter at a multiple of 64 numbers."""

    def __init__(self, p):
        p = {name: w.detach().permute(3, 0, 1, 2) if w.dim() == 4 else w.detach() for name, w in p.items()}
        self.shapes = {name: w.shape for name, w in p.items()}
        padded = [F.pad(w.reshape(-1), (0, -w.numel() % 64)) for w in p.values()]
        self.lengths, self.data = [len(w) for w in padded], torch.cat(padded).requires_grad_()

    def views(self, data):
        """name -> its part of data, in the shapes of docs/model.md"""
        own = lambda part, n: part if len(part) == n else part[:n]
        parts = zip(self.shapes.items(), data.split(self.lengths))
        parts = {name: own(part, shape.numel()).view(shape) for (name, shape), part in parts}
        return {name: w.permute(1, 2, 3, 0) if w.dim() == 4 else w for name, w in parts.items()}


class Step:
    def __init__(self, p, c, episode, frames, rollout, rays, autocast):
        """rays: of each view"""
        views, (H, W) = len(episode.views), episode.rgb.shape[2:4]
        self.c, self.rollout, self.autocast = c, rollout, autocast
        of_norms = lambda name: name.endswith((".gain", ".offset"))
        self.factors = Flat({name: w for name, w in p.items() if not of_norms(name)})
        self.norms = Flat({name: w for name, w in p.items() if of_norms(name)})
        # So small a rate that the hundredth step still has the work of the first: particles that fly away need more cells.
        self.optimiser = torch.optim.Adam([self.factors.data, self.norms.data], 1e-5, fused=True,
                                          capturable=device().type == "cuda")
        self.rgb, self.depth = episode.images(frames)
        clouds = episode.sequence(c, frames)
        self.clouds = [(a.xt, a.ct, to_device(a.moving(c)), to_device(a.pixel)) for a in clouds]
        pictures = episode.rgb[frames[-1] : frames[-1] + rollout + 1][:, episode.views]
        self.truth = to_device(pictures).reshape(rollout + 1, views * H * W, 3)
        view, row, column = np.indices((views, H, W)).reshape(3, -1)
        Kc, pose = episode.Kc[episode.views], episode.pose[episode.views]
        self.origin, self.direction = renderer.pixel_rays(Kc, pose, view, row, column)
        self.R, self.background = torch.full((c.N,), c.r), torch.ones(3)
        self.first_pixel = torch.arange(views).repeat_interleave(rays) * (H * W)
        self.pixels_of_view = H * W
        self.room = static.Room()
        self.parts = {"unet": encoder.unet, "shade": renderer.shade, "nearest": static.nearest, "place": static.place}

    def choose(self):
        N, M, pictures, rays = self.c.N, self.c.M, self.rollout + 1, len(self.first_pixel)
        return Choices([torch.rand(len(x)).argsort()[:N] for x, _, _, _ in self.clouds],
                       torch.rand(self.rollout, N).argsort(1)[:, :M],
                       self.first_pixel + torch.randint(self.pixels_of_view, (pictures, rays)), torch.rand(pictures, rays))

    def graph(self, state, node):
        """As gnn.build_graph: one search for all particles, because they look among the same nodes."""
        c, x = self.c, [t.detach() for t in state.x]
        xa = x[-1].index_select(0, node)
        near = self.parts["nearest"](torch.cat(x), xa, max(c.k_particle_to_node, c.k_node_to_particle)).chunk(c.T)
        return gnn.Graph(node, [i[:, : c.k_particle_to_node] for i in near],
                         self.parts["nearest"](xa, xa, c.k_node_to_node, True), near[-1][:, : c.k_node_to_particle])

    def loss(self, choices):
        with torch.autocast(device().type, torch.bfloat16, enabled=self.autocast):
            return self.forward(choices)

    def forward(self, choices):
        c, factors = self.c, self.factors.data
        p = self.factors.views(factors.bfloat16() if self.autocast else factors) | self.norms.views(self.norms.data)
        chosen = [[t.index_select(0, index) for t in cloud] for cloud, index in zip(self.clouds, choices.particles)]
        state = data.features(p, c, self.rgb, self.depth, chosen, self.parts["unet"])
        state.R = self.R
        states = [state]
        for node in choices.nodes:
            states.append(gnn.step(p, c, states[-1], graph=self.graph(states[-1], node))[0])
        x = torch.stack([s.x[-1] for s in states])
        pixels = choices.pixels.view(-1)
        origin, direction = self.origin.index_select(0, pixels), self.direction.index_select(0, pixels)
        per_picture = (*choices.pixels.shape, 3)
        samples, needed = self.parts["place"](c, self.room, x.detach(), self.R, origin.view(per_picture), direction.view(per_picture),
                                              choices.jitter)
        self.room.note(needed)
        spare = lambda rays: torch.cat([rays, rays[:1]])  # the ray of samples that are left over
        colour = renderer.render(p, c, x.view(-1, 3), torch.cat([s.f[-1] for s in states]), self.R.repeat(len(states)), spare(origin),
                                 spare(direction), self.background, samples=samples, shade_=self.parts["shade"])[0][:-1]
        picture = torch.arange(len(states))[:, None] * self.truth.shape[1]
        truth = self.truth.view(-1, 3).index_select(0, (picture + choices.pixels).view(-1)).float() / 255
        return torch.mean((colour - truth) ** 2)

    def __call__(self):
        loss = self.loss(self.choose())
        loss.backward()
        self.optimiser.step()
        self.last_loss = loss.detach()  # nothing keeps the autograd graph of this step

    def warm_up(self, steps=3):
        """Steps until nothing lacked room in the last few."""
        done = 0
        while done < steps:
            self.optimiser.zero_grad(set_to_none=True)
            self()
            done = 0 if self.room.grow() else done + 1

    def captured(self):
        """A step as one function: on a GPU the launch of a CUDA graph."""
        if device().type == "cpu":
            self.warm_up()
            return lambda: (self.optimiser.zero_grad(set_to_none=True), self())
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.warm_up()
        torch.cuda.current_stream().wait_stream(stream)
        self.optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, stream=stream):
            self()
        return graph.replay

    def compile(self, **options):
        """Compiles the parts for the sizes that they have now. One round of messages is compiled for all."""
        make = lambda f: torch.compile(f, dynamic=False, **options)
        self.parts = {name: make(f) for name, f in self.parts.items()}
        gnn.encode, gnn.message_round, gnn.decode = make(gnn.encode), make(gnn.message_round), make(gnn.decode)

    def compile_and_compare(self):
        choices = self.choose()
        before = self.loss(choices).item()
        self.compile()
        after = self.loss(choices).item()
        if not abs(after / before - 1) < (0.02 if self.autocast else 1e-4):
            raise SystemExit(f"bench.py: the loss is {before} and {after} when compiled")


def measure(step, times):
    """Seconds of `times` steps, and their processor time. On a GPU each is the mean of five that do not wait for each other."""
    together, wait = (5, torch.cuda.synchronize) if device().type == "cuda" else (1, lambda: None)
    for _ in range(4):
        run, seconds = step.captured(), []
        run()  # a graph is uploaded when it is first launched
        begin_cpu = time.process_time()
        for _ in range(times):
            wait()
            begin = time.perf_counter()
            for _ in range(together):
                run()
            wait()
            seconds.append((time.perf_counter() - begin) / together)
        cpu = (time.process_time() - begin_cpu) / times / together
        last_loss, lost = step.last_loss.item(), step.room.grow()
        if not 0 < last_loss < 1:
            raise SystemExit(f"bench.py: the loss is {last_loss} after {times * together} steps")
        if not lost:
            return seconds, cpu
        print(f"  too little room for samples of rays ({lost}): measured again", flush=True)
    raise SystemExit("bench.py: samples of rays were lost in each of four measurements")


def bench(step, times, threads):
    """Prints the seconds of a step with and without torch.compile. The better one counts."""
    on_gpu = device().type == "cuda"
    if on_gpu:
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.benchmark = True
    best = None
    for name in ("as it is", "compiled"):
        if name == "compiled":
            step.compile_and_compare()
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        seconds, cpu = measure(step, times)
        print(f"  {name:18s} {np.median(seconds):8.5f} ({min(seconds):.5f})", flush=True)
        memory = torch.cuda.max_memory_allocated() / 2**20 if on_gpu else 0
        best = min(best or [np.inf], [np.median(seconds), min(seconds), cpu / threads, memory])
    print(f"  {'step':18s} {best[0]:8.5f} ({best[1]:.5f})\n  {'step cpu':18s} {best[2]:8.5f}")
    if on_gpu:
        print(f"  peak memory        {best[3]:8.0f} MiB")
