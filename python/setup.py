# SPDX-License-Identifier: Apache-2.0
"""pyproject.toml has it all but one thing: a wheel that carries libvpd.so (put beside the package before building) is for this
platform alone; without it the wheel is plain Python."""
import pathlib
import sysconfig

import setuptools

options = {}
if list((pathlib.Path(__file__).parent / "vpd").glob("libvpd.so*")):
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    options["bdist_wheel"] = {"plat_name": platform}
setuptools.setup(options=options)
