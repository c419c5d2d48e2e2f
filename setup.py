"""Installs the folders of this repository as one package: `triplecheck.kg`, `triplecheck.programs`, and so on.

All other settings are in `pyproject.toml`, where every package would have to be listed by hand.
"""

from setuptools import find_packages, setup

FOLDERS = ("app", "evals", "kg", "language", "lms", "optimize", "programs", "signatures")

setup(
    package_dir={"triplecheck": "triplecheck", **{f"triplecheck.{folder}": folder for folder in FOLDERS}},
    packages=["triplecheck", *(f"triplecheck.{name}" for name in find_packages(".") if name.split(".")[0] in FOLDERS)],
)
