#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulator as a function of PyTorch: checked by torch's gradcheck, then used to find the friction of a bouncing ball.

    python/examples/torch_sim.py      # needs numpy and torch; runs on scenes/ball.yaml"""
import argparse
import pathlib

import torch
import vpd

SCENE = pathlib.Path(__file__).resolve().parents[2] / "scenes/ball.yaml"


class Rollout(torch.autograd.Function):
    """positions (frames+1, B, N, 3) = Rollout.apply(sim, names, *values): float64 tensors on the CPU, whose memory is shared."""

    @staticmethod
    def forward(ctx, sim, names, *values):
        ctx.sim, ctx.names = sim, names
        ctx.save_for_backward(*values)
        return torch.from_numpy(sim.rollout(dict(zip(names, (value.detach().numpy() for value in values)))).position)

    @staticmethod
    def backward(ctx, gradient):
        # Other rollouts may have run in between, so the states are made again here, and kept this time.
        inputs = {name: value.detach().numpy() for name, value in zip(ctx.names, ctx.saved_tensors)}
        ctx.sim.rollout(inputs, gradient=True)
        out = ctx.sim.adjoint(gradient.contiguous().numpy(), wrt=ctx.names)
        return (None, None, *(torch.from_numpy(out[name]) for name in ctx.names))


def tensor(sim, name, value=None):
    """A value of the scene as a tensor that wants a gradient."""
    out = torch.tensor(sim.values[name].data)
    return (out if value is None else torch.full_like(out, value)).requires_grad_()


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    sim = vpd.Sim(SCENE, precision="f64")
    print(sim)

    names = ("gravity", "contact.k_e", "contact.k_d", "contact.k_f", "contact.mu")
    values = [tensor(sim, name) for name in names]
    for time in ("first", "second"):  # twice, because a simulation with a state that leaks would differ
        good = torch.autograd.gradcheck(lambda *v: Rollout.apply(sim, names, *v)[-1].mean(1), values, eps=1e-6, atol=1e-6,
                                        rtol=1e-4)
        print(f"gradcheck of {', '.join(names)}, {time} time: {'passed' if good else 'failed'}")

    # The friction that carried the ball where it went, from a first guess that is half as large.
    with torch.no_grad():
        seen = Rollout.apply(sim, ("contact.mu",), tensor(sim, "contact.mu"))
    log_mu = tensor(sim, "contact.mu", 0.3).detach().log().requires_grad_()
    optimiser = torch.optim.LBFGS([log_mu], max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = (Rollout.apply(sim, ("contact.mu",), log_mu.exp()) - seen).square().mean()
        loss.backward()
        return loss

    optimiser.step(closure)
    print(f"friction: 0.3 at first, {log_mu.exp().item():.4f} found, {sim.values['contact.mu'].data.item():g} true")


if __name__ == "__main__":
    main()
