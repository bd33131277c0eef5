"""The composing shell: processes, files, the one owner of the state."""

__version__ = "0.1.0"  # the one place of it: the build and every reply take it from here
