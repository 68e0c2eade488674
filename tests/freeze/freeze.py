"""Freezes the results of headwise on small models and compares them with an earlier freeze; see the script `run`."""
import argparse
import difflib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import toys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests/data/models"
MANIFEST = "manifest.json"

# Everything that may differ between two runs without being a result. Attributes of the session file that are left out:
SKIPPED_ATTRIBUTES = {("/", "created"), ("/", "modified"), ("/", "headwise_version")}
# Replaced in every text, figure and attribute; the folders of the model and of the freeze are replaced too.
REPLACED = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"((?:Headwise |headwise: |&quot;headwise&quot;: &quot;)v?)\d+\.\d+\.\d+[\w.+-]*"), r"\1VERSION"),
]


class Case:
    """A model and the inputs its analyses need besides the weights."""

    def __init__(self, source, head, inputs, pair=None, tokens="1,2,3,1,2", tokenizer=None, matches=True):
        self.source = source  # a folder, or the function that writes it
        self.head = head  # the head of views and answers that show one
        self.pair = pair  # an earlier and a later head; none in a model of one layer
        self.inputs = inputs + (["--pair", pair] if pair else [])
        self.tokens = tokens
        self.matches = matches  # whether it has enough tokens to match its heads by
        self.common = ["--tokenizer", str(tokenizer)] if tokenizer else []


BY_ID = ["--token", "#1", "--key-token", "#2", "--direction", "#1 -- #2"]
CASES = {
    "demo": Case(
        ROOT / "resources/demo",
        "1.5",
        ["--prompt", "the cat sat on the mat", "--token", " the", "--key-token", "#500", "--direction", " the"],
        pair="0.1,1.5",
    ),
    "stories260k": Case(
        MODELS / "stories260k",
        "2.5",
        ["--prompt", "Once upon a time there was a cat", "--token", "#300", "--key-token", "#286"]
        + ["--direction", "#300 -- #286"],
        pair="0.1,3.2",
        tokenizer=MODELS / "stories260k-gguf/stories260K.gguf",
    ),
    "gpt-nano-sort": Case(
        MODELS / "gpt-nano-sort", "1.2", ["--tokens", "1,2,0,1,2", *BY_ID], pair="0.1,2.2", tokens="1,2,0,1,2", matches=False
    ),
    "modadd-1l": Case(MODELS / "modadd-1l", "0.2", ["--tokens", "1,2,113", *BY_ID], tokens="1,2,113"),
    "toy-rotary": Case(toys.write_grouped_rotary, "1.4", ["--tokens", "1,2,3,1,2", *BY_ID], pair="0.1,2.4"),
    "toy-post-norms": Case(toys.write_post_norms, "1.4", ["--tokens", "1,2,3,1,2", *BY_ID], pair="0.1,2.4"),
}


class Failure(Exception):
    """A sentence for the person at the terminal."""


class Program:
    """The headwise under test, run away from the user's settings and display."""

    def __init__(self, path, model, work, threads):
        self.path, self.model, self.work, self.threads = path, model, work, threads
        self.environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", LC_ALL="C.UTF-8")
        for variable in ("CONFIG", "DATA", "STATE"):
            self.environment[f"XDG_{variable}_HOME"] = str(work / "home")

    def neutral(self, text):
        """Replaces folders, times and the program's version."""
        for folder, word in ((self.model, "MODEL"), (self.work, "WORK"), (ROOT, "ROOT")):
            text = text.replace(str(folder), word)
        for pattern, replacement in REPLACED:
            text = pattern.sub(replacement, text)
        return text

    def call(self, *arguments):
        return subprocess.run(
            [self.path, *map(str, arguments)], env=self.environment, capture_output=True, text=True, encoding="utf-8"
        )

    def must(self, *arguments):
        done = self.call(*arguments)
        if done.returncode != 0:
            raise Failure(f"headwise {' '.join(map(str, arguments))} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def threaded(self, *arguments):
        return self.must(*arguments, "--threads", self.threads)


def digest(content):
    return hashlib.sha256(content).hexdigest()


def plain(value, neutral):
    """A value of HDF5 as JSON can hold it, without loss: floats by repr, bytes as hex."""
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, str):
        return neutral(value)
    if isinstance(value, h5py.Reference):
        raise TypeError("a reference needs its file")
    if isinstance(value, np.ndarray):
        return [plain(item, neutral) for item in value]
    if isinstance(value, (complex, np.complexfloating)):
        return [float(value.real), float(value.imag)]
    return value.item() if isinstance(value, np.generic) else value


def scales_of(dataset):
    """Names of the scales attached to each axis: stands for HDF5's DIMENSION_LIST, which holds addresses."""
    return [sorted(scale.name for scale in dimension.values()) for dimension in dataset.dims]


def attributes_of(node, neutral):
    found = {}
    for name in node.attrs:
        if (node.name, name) in SKIPPED_ATTRIBUTES or name == "REFERENCE_LIST":
            continue  # REFERENCE_LIST is DIMENSION_LIST seen from the scale.
        if name == "DIMENSION_LIST":
            found[name] = {"type": "references", "value": scales_of(node)}
            continue
        kind = node.attrs.get_id(name)
        found[name] = {
            "type": str(kind.dtype),
            "shape": list(kind.shape),
            "value": plain(node.attrs[name], neutral),
        }
    return found


def array_of(dataset, neutral):
    values = dataset[()]
    if dataset.dtype == object:  # strings and sequences of any length: hashed by what they say
        content = json.dumps(plain(values, neutral), ensure_ascii=False).encode()
    else:
        content = np.ascontiguousarray(values).tobytes()
    return {
        "type": str(dataset.dtype) if dataset.dtype != object else f"object {h5py.check_dtype(vlen=dataset.dtype)}",
        "shape": list(dataset.shape),
        "sha256": digest(content),
        "attributes": attributes_of(dataset, neutral),
    }


def arrays_of_session(path, neutral):
    found = {}
    with h5py.File(path, "r") as file:

        def visit(name, node):
            if isinstance(node, h5py.Dataset):
                found["/" + name] = array_of(node, neutral)
            else:
                found["/" + name] = {"type": "group", "attributes": attributes_of(node, neutral)}

        file.visititems(visit)
        found["/"] = {"type": "group", "attributes": attributes_of(file, neutral)}
    return found


def arrays_of_weights(path):
    """Tensors of a safetensors file."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    found = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in tensor["data_offsets"])
        found[name] = {
            "type": tensor["dtype"],
            "shape": tensor["shape"],
            "sha256": digest(content[begin:end]),
            "attributes": {},
        }
    return found


def write_arrays(case, program, out):
    """Runs every command that writes arrays. Returns {file: {path: array}}."""
    model, common = program.model, case.common
    changed = program.work / "changed"
    program.threaded(
        "analyze", model, "-o", out / "session.h5", "--analyses", "all", "--token-counts", program.work / "counts.npy",
        *common, *case.inputs,
    )  # fmt: skip
    program.threaded(
        "analyze", model, "-o", out / "other-settings.h5", "--analyses", "spectra,composition,copying,tables,ranks,norms",
        "--embedding", "effective", "--precision", "f64", "--metric", "embedding", "--heads", case.head, "--one-end",
        "--no-center-unembed", "--self-contained", "--seed", 3, "-k", 4, *common,
    )  # fmt: skip
    program.threaded("run", model, "-o", out / "run.h5", "--tokens", case.tokens, *common)
    program.threaded("process", model, "-o", program.work / "processed", *common)
    program.threaded("process", model, "-o", changed, "--without-component", case.head + ":0", *common)
    # Both without a component, because a changed head's keys and values are written once per query head.
    also = program.work / "also-changed"
    program.threaded("process", model, "-o", also, "--without-component", case.head + ":1", *common)
    program.threaded("compare", also, changed, "-o", out / "compared.h5", *common)
    if case.matches:
        program.threaded("compare", model, changed, "-o", out / "matched.h5", "--match", *common)
    arrays = {
        name: arrays_of_session(out / name, program.neutral)
        for name in ("session.h5", "other-settings.h5", "run.h5", "compared.h5", "matched.h5")
        if (out / name).exists()
    }
    for folder in ("processed", "changed"):
        arrays[folder] = {}
        for file in sorted((program.work / folder).glob("*.safetensors")):
            arrays[folder] |= arrays_of_weights(file)
    return arrays


def write_answers(case, program, out):
    """Prints every answer on stdout: all that have --json, and the text and CSV of the others."""
    model, common, session = program.model, case.common, out / "session.h5"
    circuits = ("full-ov", "full-qk")
    calls = {
        "info.txt": ["info", model, *common],
        "info.json": ["info", model, "--json", *common],
        "info-tensors.json": ["info", model, "--json", "--tensors", *common],
        "list-analyses.txt": ["list-analyses"],
        "list-analyses.json": ["list-analyses", "--json"],
        "list-analyses-model.json": ["list-analyses", model, "--json", *common],
        "findings-session.json": ["findings", session, "--json"],
        "verify.json": ["verify", model, "--json", "--threads", program.threads, *common],
        "export-list.txt": ["export", "--list"],
        "export-list-session.txt": ["export", "--list", session],
        "export-list-compared.txt": ["export", "--list", out / "compared.h5"],
    }
    for circuit in circuits:
        one = ["--circuit", circuit, "--head", case.head]
        calls[f"top-{circuit}.csv"] = ["top", model, *one, "-n", 50, "--csv", "--threads", program.threads, *common]
        for direction in ("row", "column"):
            line = [*one, "--token", "#1", "--direction", direction, "--csv"]
            calls[f"tokens-{circuit}-{direction}.csv"] = ["tokens", model, *line, *common]
            calls[f"tokens-{circuit}-{direction}-session.csv"] = ["tokens", session, *line]
    (out / "answers").mkdir()
    answers = {}
    for name, arguments in calls.items():
        done = program.call(*arguments)
        text = program.neutral(done.stdout if done.returncode == 0 else done.stdout + done.stderr)
        (out / "answers" / name).write_text(text, encoding="utf-8")
        answers[name] = {"exit": done.returncode, "sha256": digest(text.encode())}
    return answers


def views_of(session, program):
    """Names of a session's views, each with whether it shows one head."""
    lines = program.must("export", "--list", session).splitlines()
    columns = [line.split("\t") for line in lines if "\t" in line]
    if not columns:
        raise Failure(f"headwise export --list {session} names no view.")
    return [(column[0], "(--head)" in column[-1]) for column in columns]


def write_figure(view, head, session, program, file):
    """Returns the hash of the picture, or the sentence that refuses one."""
    arguments = ["export", session, "--view", view, "-o", file]
    done = program.call(*arguments, *(["--head", head] if head else []))
    if done.returncode != 0:
        return {"exit": done.returncode, "refusal": program.neutral(done.stderr.strip())}
    text = program.neutral(file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")
    return {"exit": 0, "sha256": digest(text.encode())}


def write_figures(case, program, out, wanted):
    """Draws the views of the session and of the comparison as SVG. A view of one head shows the case's."""
    figures = {}
    for name in ("session", "compared"):
        views = [(view, of_head) for view, of_head in views_of(out / f"{name}.h5", program)
                 if wanted == "all" or (wanted == "named" and not {"/", ":"} & set(view))]  # fmt: skip
        (out / "figures" / name).mkdir(parents=True)
        for view, of_head in views:
            file = out / "figures" / name / (view.replace("/", "__") + ".svg")
            figure = write_figure(view, case.head if of_head else None, out / f"{name}.h5", program, file)
            if not of_head and "--head" in figure.get("refusal", ""):
                figure = write_figure(view, case.head, out / f"{name}.h5", program, file)
            figures[f"{name}/{file.name}"] = figure
    return figures


def write_model(name, folder, options):
    case, out, began = CASES[name], folder / name, time.monotonic()
    if out.exists():
        if not (out / MANIFEST).exists():
            raise Failure(f"{out} exists and holds no {MANIFEST}. Remove it or name another folder.")
        shutil.rmtree(out)
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch).resolve()
        model = case.source
        if callable(model):
            model = work / name
            case.source(model)
        program = Program(options.headwise, model, work, options.threads)
        vocabulary = json.loads(program.must("info", model, "--json", *case.common))["d_vocab"]
        np.save(work / "counts.npy", 1.0 + np.arange(vocabulary) * 7 % 5)
        # The manifest is written first and last, so that an interrupted freeze is recognised and replaced.
        out.mkdir(parents=True)
        (out / MANIFEST).write_text("{}")
        manifest = {
            "figures_wanted": options.figures,
            "arrays": write_arrays(case, program, out),
            "answers": write_answers(case, program, out),
            "figures": write_figures(case, program, out, options.figures),
        }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False), encoding="utf-8")
    counts = [sum(map(len, manifest["arrays"].values())), len(manifest["answers"])]
    drawn = sum(figure["exit"] == 0 for figure in manifest["figures"].values())
    print(
        f"{name}: {counts[0]} arrays and groups, {counts[1]} answers, {drawn} figures and "
        f"{len(manifest['figures']) - drawn} refused, {time.monotonic() - began:.0f} s",
        file=sys.stderr,
    )


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "..."


def how_far(before, after, file, path):
    """Says how many values differ and by how much, where both files have numbers of one shape."""
    if not file.endswith(".h5"):
        return ""
    with h5py.File(before / file, "r") as one, h5py.File(after / file, "r") as two:
        a, b = one[path][()], two[path][()]
    if a.shape != b.shape or a.dtype.kind not in "iufcb" or b.dtype.kind not in "iufcb":
        return ""
    a, b = (np.atleast_1d(values).astype(complex) for values in (a, b))
    differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    finite = differ & np.isfinite(a) & np.isfinite(b)
    far = np.abs(a - b)[finite].max() if finite.any() else 0.0
    return f", {differ.sum()} of {differ.size} values, by at most {far:.3g} (largest {np.abs(a[np.isfinite(a)]).max(initial=0):.3g})"


def compare_arrays(before, after, old, new):
    for path in sorted(old.keys() | new.keys()):
        yield from one_array(before, after, path, old.get(path), new.get(path))


def one_array(before, after, key, one, two):
    file, path = key
    title = f"array {file}:{path}"
    if one is None or two is None:
        yield f"{title} is {'new' if one is None else 'gone'}"
        return
    for field in ("type", "shape"):
        if one.get(field) != two.get(field):
            yield f"{title}: {field} was {one.get(field)}, is {two.get(field)}"
    if one.get("sha256") != two.get("sha256"):
        both = "sha256" in one and "sha256" in two
        yield f"{title}: other bytes{how_far(before, after, file, path) if both else ''}"
    for name in sorted(one["attributes"].keys() | two["attributes"].keys()):
        was, now = one["attributes"].get(name), two["attributes"].get(name)
        if was != now:
            yield f"{title}: attribute {name} was {short(was)}, is {short(now)}"


def compare_texts(kind, before, after, folder, old, new):
    """Compares answers or figures by their hashes. Shows the first lines that differ of an answer."""
    for name in sorted(old.keys() | new.keys()):
        one, two = old.get(name), new.get(name)
        if one == two:
            continue
        if one is None or two is None:
            yield name, f"{kind} {name} is {'new' if one is None else 'gone'}"
        elif one["exit"] != two["exit"] or "refusal" in two:
            was, now = (entry.get("refusal", f"exit code {entry['exit']}") for entry in (one, two))
            yield name, f"{kind} {name}: was {short(was)}, is {short(now)}"
        else:
            yield name, f"{kind} {name} differs" + (first_lines(before, after, folder, name) if kind == "answer" else "")


def first_lines(before, after, folder, name):
    texts = [(side / folder / name).read_text(encoding="utf-8").splitlines() for side in (before, after)]
    lines = [line for line in difflib.unified_diff(*texts, n=0, lineterm="") if line[:3] not in ("---", "+++")]
    return "".join("\n    " + short(line) for line in lines[:6])


def flat(arrays):
    return {(file, path): array for file, paths in arrays.items() for path, array in paths.items()}


def compare_model(name, before, after, allowed):
    """Prints a line per difference. Returns how many count."""
    manifests = []
    for side in (before, after):
        path = side / name / MANIFEST
        manifest = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if not manifest:
            raise Failure(f"{path} is missing or was cut short. Write it with: tests/freeze/run write {side} {name}")
        manifests.append(manifest)
    old, new = manifests
    before, after = before / name, after / name
    if old["figures_wanted"] != new["figures_wanted"]:
        raise Failure(f"{before} has {old['figures_wanted']} figures, {after} has {new['figures_wanted']}. Pass the same --figures.")
    counted = list(compare_arrays(before, after, flat(old["arrays"]), flat(new["arrays"])))
    counted += [line for _, line in compare_texts("answer", before, after, "answers", old["answers"], new["answers"])]
    pardoned = []
    for figure, line in compare_texts("figure", before, after, "figures", old["figures"], new["figures"]):
        (pardoned if any(re.fullmatch(pattern, figure) for pattern in allowed) else counted).append(line)
    for line in counted:
        print(f"{name}: {line}")
    for line in pardoned:
        print(f"{name}: {line} (allowed)")
    return len(counted)


def read_allowed(path):
    if not path:
        return []
    lines = (line.strip() for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def compare(options):
    after = options.with_folder
    if after is None:
        after = options.folder.with_name(options.folder.name + "-now")
        for name in options.models:
            write_model(name, after, options)
    allowed = read_allowed(options.figures_may_differ)
    count = sum(compare_model(name, options.folder, after, allowed) for name in options.models)
    print(f"{count} differences between {options.folder} and {after}" if count else f"nothing differs from {options.folder}")
    return 1 if count else 0


def parse():
    parser = argparse.ArgumentParser(prog="tests/freeze/run", description=__doc__)
    parser.add_argument("action", choices=["write", "compare"],
                        help="write runs the models and writes FOLDER; compare runs them again and compares")  # fmt: skip
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"all unless named: {', '.join(CASES)}")
    parser.add_argument("--headwise", default=os.environ.get("HEADWISE"), help="the program; default: $HEADWISE")
    parser.add_argument("--threads", type=int, default=2, help="threads of the program (2)")
    parser.add_argument("--figures", choices=["all", "named", "none"], default="all",
                        help="every view, the general ones that need no array or page, or none")  # fmt: skip
    parser.add_argument("--with", dest="with_folder", type=pathlib.Path, metavar="OTHER",
                        help="of compare: a folder written earlier, in place of a new run into FOLDER-now")  # fmt: skip
    parser.add_argument("--figures-may-differ", metavar="FILE",
                        help="of compare: figures that may differ, one regular expression a line, as in "
                        "session/copying.svg; # begins a comment")  # fmt: skip
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.models if name not in CASES]
    if unknown:
        parser.error(f"no model is called {', '.join(unknown)}; there are {', '.join(CASES)}")
    options.folder = options.folder.resolve()
    options.models = options.models or list(CASES)
    if not options.with_folder:
        if not options.headwise or not os.access(options.headwise, os.X_OK):
            parser.error(f"no program at {options.headwise}; build it or set HEADWISE")
        options.headwise = str(pathlib.Path(options.headwise).resolve())
    return options


def main():
    options = parse()
    try:
        if options.action == "compare":
            return compare(options)
        for name in options.models:
            write_model(name, options.folder, options)
        return 0
    except (Failure, OSError) as error:
        print(f"freeze: {error}", file=sys.stderr)
        return 3


sys.exit(main())
