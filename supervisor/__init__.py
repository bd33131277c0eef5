"""The composing shell: processes, files, the one owner of the state."""

from importlib.metadata import version

__version__ = version("kg-supervisor")
