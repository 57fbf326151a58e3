"""Makes a wheel from the module that the build made: python3 setup.py bdist_wheel, by `make_wheel.sh`.
The wheel is for the Python and the architecture that the module was built for."""
import os
import pathlib

from setuptools import setup
from setuptools.dist import Distribution


class Binary(Distribution):
    def has_ext_modules(self):
        return True


built = pathlib.Path(os.environ["NERVE_BUILT_MODULE"])  # the folder with _nerve.*.so
setup(
    name="nerve-rdma",
    version=os.environ["NERVE_VERSION"],
    description="Tensors between processes over RDMA: put, get and collectives",
    packages=["nerve"],
    package_dir={"nerve": str(built)},
    package_data={"nerve": ["_nerve*.so"]},
    distclass=Binary,
    python_requires=">=3.9",
)
