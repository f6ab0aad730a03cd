# SPDX-License-Identifier: Apache-2.0
"""Builds libvpd.so with CMake and puts it into the wheel; pyproject.toml has the rest.

    VPD_BUILD   an existing CMake build folder, such as build/release; what is up to date there is not built again
    CMAKE_ARGS  more arguments for CMake, such as -DVPD_CUDA=ON for libvpd_cuda.so beside it"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import setuptools
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError: # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
PACKAGES = "run scripts/install-packages build in the checkout of vpd, which installs what the library needs, and try again"


def fail(sentence):
    sys.stderr.flush()
    raise SystemExit(f"vpd: {sentence}")


def run(*command):
    """Runs a command and returns its output; if it fails, prints the output and returns None."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
    return None if done.returncode else done.stdout


class Library(setuptools.Extension):
    """libvpd.so beside the package's modules; `name` is its place."""

    def __init__(self):
        super().__init__("vpd.libvpd", sources=[])


class BuildLibrary(build_ext):
    def get_ext_filename(self, fullname):
        return os.path.join(*fullname.split(".")[:-1], "libvpd.so.0")

    def build_extension(self, ext):
        folder = self.library_folder()
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        for stale in target.parent.glob("libvpd*.so*"):
            stale.unlink()
        shutil.copy2((folder / "libvpd.so").resolve(), target)
        if (folder / "libvpd_cuda.so").is_file():
            shutil.copy2(folder / "libvpd_cuda.so", target.parent)

    def library_folder(self):
        """The CMake build folder with libvpd.so in it."""
        if not (SOURCE / "CMakeLists.txt").is_file() or not (SOURCE / "api" / "vpd.h").is_file():
            fail(f"the C sources are not in {SOURCE}; build this package in a checkout of vpd: pip install CHECKOUT/python")
        if not shutil.which("cmake"):
            fail(f"cmake is missing; {PACKAGES}")
        given = os.environ.get("VPD_BUILD")
        folder = pathlib.Path(given).resolve() if given else SOURCE / "build" / "python"
        if not given:
            self.configure(folder)
        jobs = ["--parallel", str(len(os.sched_getaffinity(0)))]
        if run("cmake", "--build", folder, "--target", "vpd_library", *jobs) is None:
            fail(f"the library could not be built in {folder}; the compiler's message is above")
        return folder

    def configure(self, folder):
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        if run("cmake", "-S", SOURCE, "-B", folder, *generator, "-DBUILD_TESTING=OFF", "-DVPD_WERROR=OFF", "-DVPD_CUDA=OFF",
               *shlex.split(os.environ.get("CMAKE_ARGS", ""))) is None:
            shutil.rmtree(folder, ignore_errors=True)
            fail(f"a compiler or a library is missing (CMake's message is above); {PACKAGES}")


class Wheel(bdist_wheel):
    """For this platform, and for every Python 3: the package is plain Python over ctypes."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setuptools.setup(ext_modules=[Library()], cmdclass={"build_ext": BuildLibrary, "bdist_wheel": Wheel})
