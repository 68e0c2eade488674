#!/usr/bin/python3
"""Writes session-v1.h5 with h5py, from FORMAT.md alone. A reader of format version 1 must always read it.

usage: make_session_v1.py session-v1.h5        (python3-h5py 3.7, HDF5 1.10.8)
"""
import sys

import h5py
import numpy as np

L, H, R, D, V, K = 2, 3, 5, 7, 11, 2
strings = h5py.string_dtype("utf-8")


def add(file, path, values, axes, definition, **attributes):
    dataset = file.create_dataset(path, data=values, chunks=values.shape, shuffle=True, compression="gzip")
    dataset.attrs["axes"] = np.array(axes, dtype=object).astype(strings)
    dataset.attrs["definition"] = definition
    for name, value in attributes.items():
        dataset.attrs[name] = value


with h5py.File(sys.argv[1], "w", track_order=True) as file:
    file.attrs.update({"format": "headwise-session", "format_version": 1, "headwise_version": "0.1.0",
                       "created": "2026-11-21T00:00:00Z", "modified": "2026-11-21T01:02:03Z"})
    model = file.create_group("model")
    model.attrs.update({"name": "toy", "architecture": "gpt2", "n_layers": L, "n_heads": H, "n_kv_heads": H, "d_model": D,
                        "d_head": R, "d_mlp": 0, "d_vocab": V, "n_ctx": 13, "positional": "learned", "normalization": "LN",
                        "source": "models/toy", "sha256": "0" * 64})
    processing = file.create_group("processing")
    for name in ("fold_layer_norm", "center_writing_weights", "center_unembed"):
        processing.attrs[name] = True
    for name in ("fold_value_biases", "refactor_factored_attention"):
        processing.attrs[name] = False
    processing.attrs["embedding"] = "raw"
    processing.attrs["warnings"] = np.array(["Value biases were not folded."], dtype=object).astype(strings)

    tokens = ["␣a", "⏎", "<0xFF>", "é"] + [f"t{i}" for i in range(4, V)]
    raw = [b" a", b"\n", b"\xff", "é".encode()] + [f"t{i}".encode() for i in range(4, V)]
    file.create_dataset("vocabulary/tokens", data=np.array(tokens, dtype=object), dtype=strings)
    data = file.create_dataset("vocabulary/bytes", (V,), dtype=h5py.vlen_dtype(np.uint8))
    for i, token in enumerate(raw):
        data[i] = np.frombuffer(token, np.uint8)

    values = np.arange(L * H * R, dtype=np.float32)[::-1].reshape(L, H, R).copy()
    add(file, "spectra/qk/singular_values", values, ["layer", "head", "singular value"], "σ of W_Q W_Kᵀ")
    add(file, "eigenvalues/full_ov", (values + 1j * values[::-1]).astype(np.complex64), ["layer", "head", "eigenvalue"],
        "λ of E W_V W_O W_U", embedding="raw")
    add(file, "scores/copying", np.array([[0.5, -1, np.nan], [0, 1, 0.25]], np.float32), ["layer", "head"], "Re Σλ / Σ|λ|",
        title="Copying", range_low=-1.0, range_high=1.0, null_mean=0.0)
    composition = np.full((L, H, L, H), np.nan, np.float64)
    composition[0, :, 1, :] = np.arange(H * H).reshape(H, H) / 8
    add(file, "composition/q", composition, ["earlier layer", "earlier head", "later layer", "later head"], "‖W_OV W_QK‖ / …",
        baseline=1 / np.sqrt(D))
    ids = np.arange(V * K, dtype=np.int32).reshape(1, V, K) % V
    add(file, "tables/full_ov/ids", ids, ["head", "token", "rank"], "the k largest of each row")
    add(file, "tables/full_ov/values", -ids.astype(np.float32), ["head", "token", "rank"], "their values")
    file["tables/full_ov"].attrs["heads"] = np.array(["1.2"], dtype=object).astype(strings)
    add(file, "analyses/later/thing", np.arange(3, dtype=np.int32), ["item"], "an analysis that version 1 did not know")

    file.create_dataset("notes/1.2", data="copies names\nand éclairs", dtype=strings)
    file.create_dataset("bookmarks", data=np.array(["1.2", "0.1"], dtype=object), dtype=strings)
    file.create_dataset("view", data='{"head": "1.2"}', dtype=strings)
    # Additions of other programs, which a reader ignores.
    file.create_dataset("elsewhere/x", data=np.arange(3))
    file.create_dataset("scores/made_by_hand", data=np.array(["no", "numbers"], dtype=object), dtype=strings)
    file.attrs["lab"] = "7"
