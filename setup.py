"""What is installed: the folders of this repository as one package, `triplecheck.kg`, `triplecheck.programs` and so on.

Everything else stands in `pyproject.toml`. A list of packages there would have to name each folder by hand.
"""

from setuptools import find_packages, setup

ROOMS = ("app", "evals", "kg", "lms", "optimize", "programs", "signatures")

setup(
    package_dir={"triplecheck": "triplecheck", **{f"triplecheck.{room}": room for room in ROOMS}},
    packages=["triplecheck", *(f"triplecheck.{name}" for name in find_packages(".") if name.split(".")[0] in ROOMS)],
)
