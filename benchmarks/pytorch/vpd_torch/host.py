# SPDX-License-Identifier: Apache-2.0
"""Copies between numpy and torch's default device (torch.set_default_device), where the model runs."""
import torch


def device():
    return torch.get_default_device()


def to_device(array):
    return torch.from_numpy(array).to(device())


def to_numpy(tensor):
    return tensor.detach().cpu().numpy()
