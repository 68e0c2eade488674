"""Reads sessions of Headwise and points its window at what a notebook found. Needs h5py and numpy.

    import headwise
    with headwise.Session("session.h5") as session:
        layer, head = session.best("copying")
        print(session.describe("scores/copying"))
        print(session.table("full_ov", layer, head, " king")[:3])
        session.show(layer, head, "OV", row=" king")

The layout of the file is in FORMAT.md; every array is available as session["scores/copying"]. A token is given as its id
(500 or "#500"), as shown ("␣king") or as its raw text (" king").
"""
import numbers
import os
import subprocess
import urllib.parse

import h5py
import numpy as np

__all__ = ["Session", "SessionError"]


class SessionError(ValueError, KeyError):
    """A question that the session cannot answer, in one sentence. It is a ValueError and a KeyError."""

    __str__ = Exception.__str__  # a KeyError's own would be in quotes


class Session:
    """One session file, read only; arrays are read when they are asked for. Closes with `with` or close()."""

    def __init__(self, path):
        """Opens a session file.

        Raises FileNotFoundError if there is no such file, SessionError if it is not a Headwise session.
        """
        self.path = str(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"There is no file {self.path}.")
        try:
            self._file = h5py.File(self.path, "r")
        except OSError:
            raise SessionError(f"{self.path} is not a Headwise session: it is not a readable HDF5 file.") from None
        if self._file.attrs.get("format") != "headwise-session":
            self._file.close()
            raise SessionError(f"{self.path} is not a Headwise session: its attribute 'format' is not 'headwise-session'.")
        self._raw = None  # raw text of every token to its id

    def __enter__(self):
        """Returns the session itself; leaving the block closes it."""
        return self

    def __exit__(self, *_):
        """Closes the file."""
        self.close()

    def close(self):
        """Closes the file. Reading from the session afterwards raises SessionError."""
        self._file.close()

    @property
    def model(self):
        """Attributes of the model as a dict: name, architecture, n_layers, n_heads, d_model, d_vocab, …"""
        return dict(self._item("model").attrs)

    @property
    def processing(self):
        """Attributes of the processing that was applied to the weights, and the embedding, as a dict."""
        return dict(self._item("processing").attrs)

    @property
    def tokens(self):
        """Tokens as shown, str, [d_vocab]; None for a model without a tokenizer."""
        return self["vocabulary/tokens"] if "vocabulary/tokens" in self else None

    def paths(self):
        """Paths of all arrays, a list of str such as "scores/copying"."""
        self._check_open()
        found = []
        self._file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        return found

    def __contains__(self, path):
        """Whether there is an array or a group at a path."""
        self._check_open()
        return path in self._file

    def __getitem__(self, path):
        """The array at a path, whole, in the shape that axes() names; strings as str.

        Raises SessionError if there is no array at the path.
        """
        data = self._array(path)
        return data.asstr()[()] if h5py.check_string_dtype(data.dtype) else data[()]

    def axes(self, path):
        """Names of an array's dimensions, a list of str as long as its shape: ["layer", "head"].

        Raises SessionError if there is no array at the path.
        """
        return [dimension.label for dimension in self._array(path).dims]

    def describe(self, path):
        """Title, definition, unit, null and embedding of an array, a dict of those that it has.

        Raises SessionError if there is no array at the path.
        """
        return {name: value for name, value in self._array(path).attrs.items()
                if name in ("title", "definition", "unit", "null_mean", "null_deviation", "embedding")}

    def scores(self):
        """Every score of heads by name, a dict of arrays [n_layers, n_heads]; empty if none was computed."""
        self._check_open()
        return {name: self._file["scores"][name][()] for name in self._file.get("scores", {})}

    def best(self, score):
        """(layer, head) with the largest value of a score of heads such as "copying"; NaN does not count.

        Raises SessionError if there is no such score, or if it is NaN for every head.
        """
        known = ", ".join(sorted(self._item("scores"))) if "scores" in self else "none"
        if f"scores/{score}" not in self:
            raise SessionError(f"{self.path} has no score '{score}'; its scores are: {known}.")
        values = self[f"scores/{score}"]
        if not np.isfinite(values).any():
            raise SessionError(f"The score '{score}' is NaN for every head.")
        return tuple(int(i) for i in np.unravel_index(np.nanargmax(values), values.shape))

    def token(self, token):
        """Id of a token, an int: of an id (500 or "#500"), of the token as shown ("␣king") or of its raw text (" king").

        Raises SessionError if the model has no such token.
        """
        size = int(self.model["d_vocab"])
        if isinstance(token, numbers.Integral) and not isinstance(token, bool):
            return self._checked_id(int(token), size)
        if not isinstance(token, str):
            raise SessionError(f"A token is an id or a text, not {token!r}.")
        if token[:1] == "#" and token[1:].isascii() and token[1:].isdigit():
            return self._checked_id(int(token[1:]), size)
        shown = self.tokens
        if shown is None:
            raise SessionError(f"{self.path} has no tokens, so {token!r} cannot be looked up; give an id from 0 to {size - 1}.")
        for text in (token, " " + token):
            found = np.flatnonzero(shown == text)
            at = int(found[0]) if found.size else self._raw_ids().get(text.encode("utf-8"))
            if at is not None and text == token:
                return at
            if at is not None:
                raise SessionError(f"There is no token {token!r} in {self.path}; did you mean {text!r}, with a space?")
        raise SessionError(f"There is no token {token!r} in {self.path}; give the text of one token, or its id from 0 to {size - 1}.")

    def table(self, circuit, layer, head, token):
        """The strongest entries of a token's row of "full_ov" or "full_qk", the largest first: a list of (id, value).

        The token is one that token() understands. The list has as many entries as the session keeps, usually 10.
        Raises SessionError if the session has no table of the circuit or the head, or if there is no such token.
        """
        if f"tables/{circuit}" not in self:
            known = ", ".join(sorted(self._item("tables"))) if "tables" in self else "none"
            raise SessionError(f"{self.path} has no table of '{circuit}'; its tables are: {known}.")
        group = self._file[f"tables/{circuit}"]
        names = [name if isinstance(name, str) else name.decode() for name in group.attrs["heads"]]
        if f"{layer}.{head}" not in names:
            raise SessionError(f"{self.path} has no table of head {layer}.{head}; its heads are {', '.join(names)}.")
        at, row = names.index(f"{layer}.{head}"), self.token(token)
        return [(int(i), float(v)) for i, v in zip(group["ids"][at, row], group["values"][at, row])]

    def address(self, layer, head, page="OV", row=None, column=None):
        """An address for `headwise --goto`, a str; row and column are tokens: an id, or text as shown or raw.

        Raises SessionError if the model has no such head.
        """
        layers, heads = int(self.model["n_layers"]), int(self.model["n_heads"])
        if not (0 <= layer < layers and 0 <= head < heads):
            raise SessionError(f"There is no head {layer}.{head} in {self.path}; its heads are 0.0 to {layers - 1}.{heads - 1}.")
        given = [(name, token if isinstance(token, str) else f"#{self.token(token)}")
                 for name, token in (("row", row), ("column", column)) if token is not None]
        quoted = [f"{name}={urllib.parse.quote(token, safe='')}" for name, token in given]
        file = urllib.parse.quote(self.path, safe="/")
        return f"{file}#L{layer}H{head}/{page}" + ("?" + "&".join(quoted) if quoted else "")

    def show(self, layer, head, page="OV", row=None, column=None, program="headwise"):
        """Brings the window to a head, a page and a token; the arguments are those of address(). Returns nothing.

        Raises SessionError if the model has no such head, if the program is not found, or if it refuses the address.
        """
        address = self.address(layer, head, page, row, column)
        try:
            done = subprocess.run([program, "--goto", address], stderr=subprocess.PIPE, check=False)
        except OSError:
            raise SessionError(f"The program '{program}' cannot be started; give its path as program=\"…/headwise\".") from None
        if done.returncode != 0:
            reason = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise SessionError(f"{program} cannot show {address}: {reason or f'it exited with status {done.returncode}.'}")

    # --- for the functions above ---

    def _check_open(self):
        if not self._file:
            raise SessionError(f"{self.path} is closed; open the session again.")

    def _item(self, path):
        self._check_open()
        if path not in self._file:
            raise SessionError(f"{self.path} has no '{path}'; paths() lists its arrays.")
        return self._file[path]

    def _array(self, path):
        item = self._item(path)
        if not isinstance(item, h5py.Dataset):
            raise SessionError(f"'{path}' of {self.path} is a group of arrays; paths() lists them.")
        return item

    def _checked_id(self, token, size):
        if not 0 <= token < size:
            raise SessionError(f"There is no token {token} in {self.path}; its ids are 0 to {size - 1}.")
        return token

    def _raw_ids(self):
        if self._raw is None:
            raw = self["vocabulary/bytes"] if "vocabulary/bytes" in self else []
            self._raw = {}
            for token, data in enumerate(raw):
                if len(data):
                    self._raw.setdefault(bytes(data), token)  # of several, the lowest id
        return self._raw
