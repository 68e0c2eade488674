#!/usr/bin/python3
"""A session as a colleague with h5py sees it: the demo's, path by path, its numbers against dense float64 in numpy.

usage: session_h5py_test.py HEADWISE DEMO_FOLDER      exits 77 (skipped) where h5py is not installed
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# The matrices are small: threads that wait for each other would take ten times as long beside other tests.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import h5py
    import numpy as np
except ImportError:
    print("skipped: python3-h5py is not installed")
    sys.exit(77)

failures = []


def check(condition, sentence):
    if not condition:
        failures.append(sentence)


def close(name, actual, expected, tolerance, scale=None):
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        failures.append(f"{name} has shape {actual.shape}, expected {expected.shape}")
        return
    size = np.max(np.abs(expected)) if scale is None else scale
    error = np.max(np.abs(actual - expected) / size)
    check(error <= tolerance, f"{name} is off by {error:.2g} of its size, allowed {tolerance:.0e}")


# --- the model, read and folded here ------------------------------------------------------------------------------


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[8 + length + begin : 8 + length + end], "<f4")
            tensors[name] = values.reshape(entry["shape"]).astype(np.float64)
    return tensors


def fold(t, layers):
    """The default switches on a LayerNorm model with attention alone; everything in float64."""
    m = {"W_E": t["embed.W_E"], "W_pos": t["pos_embed.W_pos"]}
    m = {name: w - w.mean(-1, keepdims=True) for name, w in m.items()}
    for letter in "QKVO":
        m["W_" + letter], m["b_" + letter] = [], []
    for layer in range(layers):
        b = f"blocks.{layer}."
        for letter in "QKV":
            w = t[b + "attn.W_" + letter]
            m["b_" + letter].append(t[b + "attn.b_" + letter] + np.einsum("m,imh->ih", t[b + "ln1.b"], w))
            w = w * t[b + "ln1.w"][None, :, None]
            m["W_" + letter].append(w - w.mean(1, keepdims=True))
        w = t[b + "attn.W_O"]
        m["W_O"].append(w - w.mean(-1, keepdims=True))
    w = t["unembed.W_U"] * t["ln_final.w"][:, None]
    w = w - w.mean(0, keepdims=True)
    m["W_U"] = w - w.mean(1, keepdims=True)
    return m


# --- the contents of the file, as in FORMAT.md ---------------------------------------------------------------------------------


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def check_root(file):
    attrs = file.attrs
    check(text(attrs.get("format")) == "headwise-session", "/ has no format = headwise-session")
    check(int(attrs.get("format_version", 0)) == 1, "/ has no format_version = 1")
    check(text(attrs.get("headwise_version", "")) != "", "/ has no headwise_version")
    for name in ("created", "modified"):
        stamp = text(attrs.get(name, ""))
        check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", stamp), f"/ {name} is {stamp!r}, not ISO 8601 in UTC")
    known = {"model", "processing", "vocabulary", "spectra", "eigenvalues", "scores", "composition", "tables", "analyses",
             "factors", "embedding", "unembedding", "comparison", "findings", "notes", "bookmarks"}
    check(set(file) <= known, f"/ holds {sorted(set(file) - known)}, which the format does not name")


def check_model(group):
    expected = {"n_layers": 2, "n_heads": 8, "n_kv_heads": 8, "d_model": 256, "d_head": 32, "d_mlp": 0, "d_vocab": 2048,
                "n_ctx": 128, "positional": "learned", "normalization": "LN"}
    for name, value in expected.items():
        actual = group.attrs.get(name)
        actual = text(actual) if isinstance(value, str) else actual
        check(actual == value, f"/model {name} is {actual!r}, expected {value!r}")
    for name in ("name", "architecture", "source"):
        check(text(group.attrs.get(name, "")) != "", f"/model has no {name}")
    check(re.fullmatch("[0-9a-f]{64}", text(group.attrs.get("sha256", ""))), "/model sha256 is not 64 hexadecimal digits")


def check_processing(group):
    switches = {"fold_layer_norm": True, "center_writing_weights": True, "center_unembed": True, "fold_value_biases": True,
                "refactor_factored_attention": False}
    for name, value in switches.items():
        check(name in group.attrs and bool(group.attrs[name]) == value, f"/processing {name} is not {value}")
    check(text(group.attrs.get("embedding")) == "raw", "/processing embedding is not raw")
    check(len(np.atleast_1d(group.attrs.get("warnings", [0]))) == 0, "/processing warnings is not an empty array")


def check_vocabulary(group, demo):
    tokens, data = group["tokens"], group["bytes"]
    check(tokens.shape == (2048,) and data.shape == (2048,), "/vocabulary is not [d_vocab]")
    check(h5py.check_string_dtype(tokens.dtype) is not None, "/vocabulary/tokens are not strings")
    check(h5py.check_string_dtype(tokens.dtype).encoding == "utf-8", "/vocabulary/tokens are not UTF-8")
    check(h5py.check_vlen_dtype(data.dtype) == np.uint8, "/vocabulary/bytes are not variable-length u8")
    check(text(tokens[0]) == "<|endoftext|>", f"token 0 is shown as {text(tokens[0])!r}")
    for token, raw in zip(tokens[:], data[:]):
        raw = bytes(raw)
        if raw.isalpha() and raw.isascii():
            check(text(token) == raw.decode(), f"token {raw!r} is shown as {text(token)!r}")
        if re.fullmatch(b" [A-Za-z]+", raw):
            check(text(token) == "\u2423" + raw[1:].decode(), f"token {raw!r} is shown as {text(token)!r}")


def numeric(file, path, shape, dtype):
    if path not in file:
        failures.append(f"{path} is missing")
        return np.full(shape, np.nan, dtype)
    dataset = file[path]
    check(dataset.shape == shape, f"{path} has shape {dataset.shape}, expected {shape}")
    check(dataset.dtype == dtype, f"{path} is {dataset.dtype}, expected {np.dtype(dtype)}")
    axes = [text(axis) for axis in np.atleast_1d(dataset.attrs.get("axes", []))]
    check(len(axes) == len(shape) and all(axes), f"{path} does not name its {len(shape)} axes but {axes}")
    if "/full_" in path or path in ("/scores/copying", "/scores/matching"):
        check(text(dataset.attrs.get("embedding", "")) == "raw", f"{path} has no embedding = raw")
    check(text(dataset.attrs.get("definition", "")) != "", f"{path} has no definition")
    check([text(dim.label) for dim in dataset.dims] == axes, f"{path} has dimension labels {[dim.label for dim in dataset.dims]}")
    for axis, dim in zip(axes, dataset.dims):
        expected = file["vocabulary/tokens"][:].tolist() if axis == "token" else list(range(dataset.shape[axes.index(axis)]))
        if axis in ("layer", "token") or (axis == "head" and not path.startswith("/tables")):
            check(len(dim) == 1 and dim[0][:].tolist() == expected, f"{path} has no scale of its axis {axis}")
    check(dataset.chunks is not None and dataset.shuffle and dataset.compression == "gzip", f"{path} is not chunked, shuffled and deflated")
    return dataset[()]


# --- its numbers --------------------------------------------------------------------------------------------------


def circuits(m, layer, head):
    """Thin factors; their products are what the session's numbers are about. Kept with the model for the next check."""
    kept = m.setdefault("circuits", {})
    if (layer, head) not in kept:
        Q, K, V, O = (m["W_" + letter][layer][head] for letter in "QKVO")
        kept[layer, head] = {"qk": (Q, K.T), "ov": (V, O), "full_qk": (m["W_E"] @ Q, (m["W_E"] @ K).T),
                             "full_ov": (m["W_E"] @ V, O @ m["W_U"])}
    return kept[layer, head]


def singular_values(a, b):
    if a.shape[0] <= 256:
        return np.linalg.svd(a @ b, compute_uv=False)[: a.shape[1]]
    return np.linalg.svd(np.linalg.qr(a)[1] @ np.linalg.qr(b.T)[1].T, compute_uv=False)


def check_spectra(file, m):
    for name in ("qk", "ov", "full_qk", "full_ov"):
        values = numeric(file, f"/spectra/{name}/singular_values", (2, 8, 32), np.float32)
        measures = {measure: numeric(file, f"/spectra/{name}/{measure}", (2, 8), np.float32)
                    for measure in ("frobenius_norm", "effective_rank", "stable_rank", "participation_ratio")}
        eigenvalues = numeric(file, f"/eigenvalues/{name}", (2, 8, 32), np.complex64)
        for layer, head in np.ndindex(2, 8):
            a, b = circuits(m, layer, head)[name]
            where = f"{name} of L{layer}H{head}: "
            s = singular_values(a, b)
            p, p2 = s / s.sum(), s**2
            close(where + "singular values", values[layer, head], s, 1e-5, s[0])
            close(where + "Frobenius norm", measures["frobenius_norm"][layer, head], np.sqrt(p2.sum()), 1e-5)
            close(where + "effective rank", measures["effective_rank"][layer, head], np.exp(-(p * np.log(p)).sum()), 1e-4)
            close(where + "stable rank", measures["stable_rank"][layer, head], p2.sum() / p2[0], 1e-4)
            close(where + "participation ratio", measures["participation_ratio"][layer, head], p2.sum() ** 2 / (p2**2).sum(), 1e-4)
            actual = eigenvalues[layer, head].astype(complex)
            check(np.all(np.diff(np.abs(actual)) <= 1e-5 * np.abs(actual[0])), where + "eigenvalues do not fall in modulus")
            # Each of ours is near one of numpy's, and the reverse; pairing them by order would fail at near ties.
            expected = np.linalg.eigvals(b @ a)
            distance = np.abs(actual[:, None] - expected[None, :])
            worst = max(distance.min(0).max(), distance.min(1).max()) / np.abs(expected).max()
            check(worst < 1e-4, where + f"eigenvalues are off by {worst:.2g} of the largest")


def previous_token(m, layer, head):
    p = m["W_pos"] / np.sqrt((m["W_pos"] ** 2).mean(-1, keepdims=True) + 1e-5)
    q = p @ m["W_Q"][layer][head] + m["b_Q"][layer][head]
    k = p @ m["W_K"][layer][head] + m["b_K"][layer][head]
    s = q @ k.T / np.sqrt(32)
    s[np.triu_indices(128, 1)] = -np.inf
    s = np.exp(s - s.max(-1, keepdims=True))
    s /= s.sum(-1, keepdims=True)
    return np.diagonal(s, -1).mean()


def check_scores(file, m):
    copying = numeric(file, "/scores/copying", (2, 8), np.float32)
    previous = numeric(file, "/scores/previous_token", (2, 8), np.float32)
    matching = numeric(file, "/scores/matching", (2, 8), np.float32)
    for layer, head in np.ndindex(2, 8):
        for score, name, actual in (("copying", "full_ov", copying), ("matching", "full_qk", matching)):
            a, b = circuits(m, layer, head)[name]
            values = np.linalg.eigvals(b @ a)
            close(f"{score} of L{layer}H{head}", actual[layer, head], values.sum().real / np.abs(values).sum(), 1e-4, 1)
        close(f"previous_token of L{layer}H{head}", previous[layer, head], previous_token(m, layer, head), 1e-4, 1)
    check(np.nanargmax(previous[0]) == 1, "the previous-token head of the demo is not L0H1")
    check(set(np.argsort(copying[1])[-3:]) == {0, 5, 7}, "the copying heads of the demo's layer 1 are not L1H0, L1H5, L1H7")
    assumption = file["/scores/previous_token"].attrs.get("assumption")
    check(text(assumption) == "raw positions", f"previous_token has assumption {assumption!r}")


def check_composition(file, m):
    for name in "qkv":
        actual = numeric(file, f"/composition/{name}", (2, 8, 2, 8), np.float32)
        if f"/composition/{name}" in file:
            close(f"composition {name} baseline", file[f"/composition/{name}"].attrs.get("baseline", np.nan), 1 / 16, 1e-6)
        check(np.all(np.isnan(actual[0, :, 0])) and np.all(np.isnan(actual[1])), f"/composition/{name} is not NaN where l1 >= l2")
        for first, second in np.ndindex(8, 8):
            ov = np.matmul(*circuits(m, 0, first)["ov"])
            later = np.matmul(*circuits(m, 1, second)["ov" if name == "v" else "qk"])
            product = ov @ (later.T if name == "k" else later)
            expected = np.linalg.norm(product) / np.linalg.norm(ov) / np.linalg.norm(later)
            close(f"{name} composition of L0H{first} and L1H{second}", actual[0, first, 1, second], expected, 1e-4)


def check_tables(file, m):
    for name in ("full_ov", "full_qk"):
        group = f"/tables/{name}"
        heads = [text(h) for h in file[group].attrs.get("heads", [])] if group in file else []
        check(heads == [f"{layer}.{head}" for layer, head in np.ndindex(2, 8)], f"{group} heads are {heads}")
        tables = {column: numeric(file, f"{group}/{column}", (16, 2048, 10), np.int32 if "ids" in column else np.float32)
                  for column in ("ids", "values", "lowest_ids", "lowest_values", "column_ids", "column_values")}
        for index in (1, 13):
            a, b = circuits(m, index // 8, index % 8)[name]
            dense = a @ b
            size = np.abs(dense).max()
            for prefix, matrix in (("", dense), ("lowest_", -dense), ("column_", dense.T)):
                expected = -np.sort(-np.partition(matrix, -10, axis=1)[:, -10:], axis=1)
                sign = -1 if prefix == "lowest_" else 1
                ids, values = tables[prefix + "ids"][index], tables[prefix + "values"][index]
                close(f"{group}/{prefix}values of head {index}", sign * values, expected, 1e-5, size)
                picked = np.take_along_axis(matrix, ids.astype(int), axis=1) if ids.min() >= 0 else matrix[:, :10]
                # An id may differ from numpy's only if two entries are closer than float32's resolution.
                close(f"entries at {group}/{prefix}ids of head {index}", picked, expected, 1e-6, size)
                check(all(len(set(row)) == 10 for row in ids), f"{group}/{prefix}ids of head {index} repeat a token")


def check_module(path, demo):
    """The small module for notebooks says what the file says."""
    sys.path.insert(0, str(pathlib.Path(demo).parent / "python"))
    sys.dont_write_bytecode = True
    import headwise as module

    with module.Session(path) as session, h5py.File(path, "r") as file:
        check(session.model["d_model"] == file["model"].attrs["d_model"], "the module has another d_model")
        check(bool(session.processing["fold_layer_norm"]), "the module does not know the processing")
        check(list(session.tokens) == list(file["vocabulary/tokens"].asstr()[()]), "the module has other tokens")
        check("scores/copying" in session and "scores/copying" in session.paths(), "the module misses scores/copying")
        check(session.axes("scores/copying") == ["layer", "head"], "the module has other axes")
        check("definition" in session.describe("scores/copying"), "the module has no definition")
        copying = file["scores/copying"][()]
        layer, head = session.best("copying")
        check(copying[layer, head] == np.nanmax(copying), "the module's best head is not the best")
        check(set(session.scores()) == set(file["scores"]), "the module has other scores")
        table = file["tables/full_ov"]
        row = session.table("full_ov", layer, head, 7)
        at = layer * copying.shape[1] + head
        check(row == list(zip(table["ids"][at, 7].tolist(), table["values"][at, 7].tolist())), "the module has another table")
        check(session.address(1, 5, "OV", row=" king").endswith("#L1H5/OV?row=%20king"), "the module has another address")
    other = pathlib.Path(path).with_name("other.h5")
    with h5py.File(other, "w"):
        pass
    try:
        module.Session(other)
        failures.append("the module opens what is no session")
    except ValueError as error:
        check("not a Headwise session" in str(error), "the module does not say what is wrong")


def refuses(what, question, *words):
    """The question raises one sentence that holds all the words, and neither a quoted one nor an error of h5py."""
    try:
        question()
    except Exception as error:
        said = str(error)
        check(type(error).__name__ in ("SessionError", "FileNotFoundError"), f"{what} raises {type(error).__name__}: {said}")
        check(said.endswith((".", "?")) and "\n" not in said, f"{what} raises no sentence: {said!r}")
        for word in words:
            check(word in said, f"{what} does not say {word!r}: {said}")
    else:
        failures.append(f"{what} is not refused")


def check_tokens_of_module(path):
    """Tokens are ids, raw text or text as shown, everywhere; what is none is refused in a sentence."""
    import headwise as module

    with module.Session(path) as session:
        tokens = list(session.tokens)
        king = tokens.index("\u2423king")
        for name in (" king", "\u2423king", king, f"#{king}", np.int32(king)):
            check(session.token(name) == king, f"the module takes {name!r} for {session.token(name)}, expected {king}")
            check(session.table("full_ov", 1, 5, name) == session.table("full_ov", 1, 5, king), f"the module has no table of {name!r}")
        check(len(session.table("full_ov", 1, 5, " king")) == 10, "the module's table of ' king' has not 10 entries")
        check(session.address(1, 5, row=king).endswith(f"?row=%23{king}"), f"the module's address is {session.address(1, 5, row=king)}")
        refuses("a text without its space", lambda: session.table("full_ov", 1, 5, "king"), "'king'", "' king'")
        refuses("a text that is no token", lambda: session.table("full_ov", 1, 5, "no such token"), "'no such token'", "2047")
        refuses("an id past the end", lambda: session.token(2048), "2048", "0 to 2047")
        refuses("a negative id", lambda: session.token(-1), "-1", "0 to 2047")
        refuses("a number for a token", lambda: session.token(1.5), "1.5")
        refuses("an unknown circuit", lambda: session.table("full_xy", 1, 5, king), "full_xy", "full_ov", "full_qk")
        refuses("a head that is none", lambda: session.table("full_ov", 2, 0, king), "2.0", "1.7")
        refuses("an address of a head that is none", lambda: session.address(0, 8), "0.8", "1.7")
        refuses("a score that is none", lambda: session.best("coping"), "coping", "copying")
        refuses("an array that is none", lambda: session["scores/coping"], "scores/coping")
        refuses("a group", lambda: session["scores"], "scores", "group")
        refuses("a program that is none", lambda: session.show(1, 5, program="/no/headwise"), "/no/headwise")
        refuses("a program that fails", lambda: session.show(1, 5, program="false"), "false", "L1H5")
    refuses("a closed session", lambda: session["scores/copying"], "closed")
    refuses("a file that is none", lambda: module.Session("/no/session.h5"), "/no/session.h5")
    text_file = path.with_name("text.h5")
    text_file.write_text("no HDF5")
    refuses("a text file", lambda: module.Session(text_file), "not a Headwise session")
    for thing in [module, module.Session] + [value for name, value in vars(module.Session).items() if not name.startswith("_")]:
        check((thing.__doc__ or "").strip(), f"{thing} of the module has no docstring")


def check_readme(session):
    """The examples of the README run as they are written; a stand-in takes the place of the window."""
    root = pathlib.Path(__file__).resolve().parents[2]
    section = (root / "README.md").read_text(encoding="utf-8").split("## From a notebook", 1)[1].split("\n## ", 1)[0]
    examples = re.findall(r"```python\n(.*?)```", section, re.S)
    check(len(examples) == 2, f"the README has {len(examples)} examples for notebooks, expected 2")
    with tempfile.TemporaryDirectory() as folder:
        window = pathlib.Path(folder) / "headwise"
        window.write_text('#!/bin/sh\necho "$@" > asked\n')
        window.chmod(0o755)
        shutil.copy(session, pathlib.Path(folder) / "session.h5")
        with h5py.File(session, "r") as file:
            copying = file["scores/copying"][()]
        layer, head = np.unravel_index(np.nanargmax(copying), copying.shape)
        environment = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"], PYTHONIOENCODING="utf-8", PYTHONDONTWRITEBYTECODE="1")
        environment["PYTHONPATH"] = os.pathsep.join([str(root / "resources/python"), os.environ.get("PYTHONPATH", "")])
        for example in examples:
            asked = pathlib.Path(folder) / "asked"
            asked.unlink(missing_ok=True)
            run = subprocess.run([sys.executable, "-c", example], cwd=folder, env=environment, capture_output=True, text=True)
            check(run.returncode == 0, f"an example of the README ends with {run.returncode}: {run.stderr}")
            check(run.stdout.strip() != "", "an example of the README prints nothing")
            said = asked.read_text().strip() if asked.exists() else "nothing"
            check(said == f"--goto session.h5#L{layer}H{head}/OV?row=%20king", f"an example of the README asks for {said}")


def check_what_others_add(headwise, session):
    """Arrays of somebody else, packed in a way that Headwise does not read, leave the session's own as they are."""
    with h5py.File(session, "r+") as file:
        file.create_dataset("analyses/probe/weights", data=np.ones(64, "f4"), chunks=(64,), compression="lzf")
    table = session.parent / "copying.csv"
    run = subprocess.run([headwise, "export", str(session), "--view", "copying", "-o", str(table)],
                         capture_output=True, text=True)
    check(run.returncode == 0 and table.exists(), f"a foreign array stops export: {run.stderr}")


def main():
    headwise, demo = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        session = pathlib.Path(folder) / "demo.h5"
        run = subprocess.run([headwise, "analyze", demo, "-o", str(session)], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"headwise analyze ended with {run.returncode}: {run.stderr}")
        m = fold(read_safetensors(pathlib.Path(demo) / "model.safetensors"), 2)
        with h5py.File(session, "r") as file:
            check_root(file)
            check_model(file["model"])
            check_processing(file["processing"])
            check_vocabulary(file["vocabulary"], demo)
            check_spectra(file, m)
            check_scores(file, m)
            check_composition(file, m)
            check_tables(file, m)
        check_module(session, demo)
        check_tokens_of_module(session)
        check_readme(session)
        check_what_others_add(headwise, session)
    for failure in failures[:40]:
        print(failure)
    print(f"{len(failures)} differences")
    sys.exit(1 if failures else 0)


main()
