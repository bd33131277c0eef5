"""The composing shell: processes, files, the one owner of the state."""
