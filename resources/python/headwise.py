"""Reads sessions of Headwise and points its window at what a notebook found. Needs h5py and numpy.

    import headwise
    session = headwise.Session("session.h5")
    layer, head = session.best("copying")
    print(session.tokens[:3], session.describe("scores/copying"))
    session.show(layer, head, "OV", row=" king")

The layout of the file is in FORMAT.md; every array is at hand as session["scores/copying"].
"""
import subprocess
import urllib.parse

import h5py
import numpy as np


class Session:
    """One session file, read only; arrays are read when they are asked for. Closes with `with` or close()."""

    def __init__(self, path):
        self.path = str(path)
        self._file = h5py.File(self.path, "r")
        if self._file.attrs.get("format") != "headwise-session":
            self._file.close()
            raise ValueError(f"{self.path} is no session of Headwise: its attribute 'format' is not 'headwise-session'.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._file.close()

    @property
    def model(self):
        """Attributes of the model: name, architecture, n_layers, n_heads, d_model, …"""
        return dict(self._file["model"].attrs)

    @property
    def processing(self):
        """The processing that was applied to the weights, and the embedding."""
        return dict(self._file["processing"].attrs)

    @property
    def tokens(self):
        """Tokens as shown, by id; None for a model without a tokenizer."""
        return self._file["vocabulary/tokens"].asstr()[()] if "vocabulary/tokens" in self._file else None

    def paths(self):
        """Paths of all arrays."""
        found = []
        self._file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        return found

    def __contains__(self, path):
        return path in self._file

    def __getitem__(self, path):
        """The array at a path, whole; strings as str."""
        data = self._file[path]
        return data.asstr()[()] if h5py.check_string_dtype(data.dtype) else data[()]

    def axes(self, path):
        """Names of the array's dimensions: ["layer", "head"]."""
        return [dimension.label for dimension in self._file[path].dims]

    def describe(self, path):
        """Title, definition, unit and null of an array."""
        return {name: value for name, value in self._file[path].attrs.items()
                if name in ("title", "definition", "unit", "null_mean", "null_deviation", "embedding")}

    def scores(self):
        """Every score of heads by name, [n_layers, n_heads] each."""
        return {name: self._file["scores"][name][()] for name in self._file.get("scores", {})}

    def best(self, score):
        """(layer, head) with the largest value of a score of heads."""
        values = self[f"scores/{score}"]
        return tuple(int(i) for i in np.unravel_index(np.nanargmax(values), values.shape))

    def table(self, circuit, layer, head, token):
        """The strongest entries of a token's row of "full_ov" or "full_qk": [(token id, value)], the largest first."""
        group = self._file[f"tables/{circuit}"]
        names = [name if isinstance(name, str) else name.decode() for name in group.attrs["heads"]]
        at = names.index(f"{layer}.{head}")
        return [(int(i), float(v)) for i, v in zip(group["ids"][at, token], group["values"][at, token])]

    def address(self, layer, head, page="OV", row=None, column=None):
        """An address for `headwise --goto`; row and column are tokens as text, as shown or as "#500"."""
        quoted = [f"{name}={urllib.parse.quote(token, safe='')}"
                  for name, token in (("row", row), ("column", column)) if token is not None]
        file = urllib.parse.quote(self.path, safe="/")
        return f"{file}#L{layer}H{head}/{page}" + ("?" + "&".join(quoted) if quoted else "")

    def show(self, layer, head, page="OV", row=None, column=None, program="headwise"):
        """Brings the window to a head, a page and a token."""
        subprocess.run([program, "--goto", self.address(layer, head, page, row, column)], check=True)
