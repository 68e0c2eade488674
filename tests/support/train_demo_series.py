#!/usr/bin/env python3
"""Trains a small attention-only transformer on repeated tokens and writes 40 checkpoints, FOLDER/step0.safetensors … step700.safetensors.

    /usr/bin/python3 tests/support/train_demo_series.py FOLDER [STEPS]
    headwise series FOLDER -o series.h5

NumPy alone, seeded, ten seconds on one core; 46 kB a checkpoint (float16). tests/data/models/induction-series was made like this.
Two layers of 4 heads, d_model 48, learned positions, no norms, 32 tokens. In each sequence a token depends on the one before the last, which a
previous-token head sees, and 6 to 16 tokens are repeated, which an induction circuit predicts. The loss on the second copies falls from ln 32 = 3.5
to 2.3 by the former, and to 0.2 by the latter, most of it between steps 200 and 250.
"""
import json
import pathlib
import struct
import sys

import numpy as np

LAYERS, HEADS, WIDTH, SIZE, VOCABULARY, CONTEXT = 2, 4, 48, 12, 32, 32
BATCH, RATE, CHECKPOINTS = 32, 5e-3, 40
CONFIG = {
    "model_name": "series-attn-2l", "n_layers": LAYERS, "d_model": WIDTH, "n_ctx": CONTEXT, "d_head": SIZE, "n_heads": HEADS,
    "d_mlp": None, "d_vocab": VOCABULARY, "act_fn": None, "normalization_type": None, "final_rms": False, "eps": 1e-5,
    "attn_only": True, "gated_mlp": False, "positional_embedding_type": "standard", "attention_dir": "causal"}


def initial(random):
    """Weights by name; matrices of all heads side by side, [WIDTH, HEADS * SIZE] or its transpose."""
    def normal(*shape, scale):
        return (random.standard_normal(shape) * scale).astype(np.float32)
    weights = {"E": normal(VOCABULARY, WIDTH, scale=0.3), "pos": normal(CONTEXT, WIDTH, scale=0.3),
               "U": normal(WIDTH, VOCABULARY, scale=0.1)}
    for layer in range(LAYERS):
        for name in "QKV":
            weights[f"{name}{layer}"] = normal(WIDTH, HEADS * SIZE, scale=WIDTH ** -0.5)
        weights[f"O{layer}"] = normal(HEADS * SIZE, WIDTH, scale=0.5 * WIDTH ** -0.5)
    return weights


# Logits of a token after the one before the last.
AFTER = np.einsum("vr,wr->vw", *np.random.default_rng(1).standard_normal((2, VOCABULARY, 4))) * 2.0


def batch(random):
    """Chains of tokens, cut off and repeated; tells which positions are in second copies."""
    tokens = random.integers(VOCABULARY, size=(BATCH, CONTEXT + 1))
    noise = random.gumbel(size=(CONTEXT + 1, BATCH, VOCABULARY))
    for at in range(2, CONTEXT + 1):
        tokens[:, at] = (AFTER[tokens[:, at - 2]] + noise[at]).argmax(-1)
    periods = random.integers(6, 17, size=BATCH)
    for row, period in zip(tokens, periods):
        row[:] = row[np.arange(CONTEXT + 1) % period]
    return tokens, np.arange(CONTEXT)[None, :] >= periods[:, None]


def split(x):
    """[BATCH, CONTEXT, HEADS * SIZE] to [BATCH, HEADS, CONTEXT, SIZE]"""
    return x.reshape(BATCH, CONTEXT, HEADS, SIZE).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(BATCH, CONTEXT, HEADS * SIZE)


HIDDEN = np.triu(np.full((CONTEXT, CONTEXT), -1e9, np.float32), 1)


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def sums(a, b):
    """Sum over all positions of the outer products of two [BATCH, CONTEXT, …]."""
    return a.reshape(-1, a.shape[-1]).T @ b.reshape(-1, b.shape[-1])


def gradients(weights, tokens, repeated):
    """Returns the loss of the second copies and the gradients of the mean loss."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = weights["E"][inputs] + weights["pos"]
    kept = []
    for layer in range(LAYERS):
        q, k, v = (split(x @ weights[f"{name}{layer}"]) for name in "QKV")
        pattern = softmax(q @ k.transpose(0, 1, 3, 2) * SIZE ** -0.5 + HIDDEN)
        z = joined(pattern @ v)
        kept.append((x, q, k, v, pattern, z))
        x = x + z @ weights[f"O{layer}"]
    chances = softmax(x @ weights["U"])
    right = np.take_along_axis(chances, targets[..., None], -1)[..., 0]
    np.put_along_axis(chances, targets[..., None], right[..., None] - 1, -1)
    slope = chances / targets.size
    found = {"U": sums(x, slope)}
    dx = slope @ weights["U"].T
    for layer in reversed(range(LAYERS)):
        x, q, k, v, pattern, z = kept[layer]
        found[f"O{layer}"] = sums(z, dx)
        dz = split(dx @ weights[f"O{layer}"].T)
        dv = pattern.transpose(0, 1, 3, 2) @ dz
        dpattern = dz @ v.transpose(0, 1, 3, 2)
        dscores = pattern * (dpattern - (dpattern * pattern).sum(-1, keepdims=True)) * SIZE ** -0.5
        for name, part in (("Q", dscores @ k), ("K", dscores.transpose(0, 1, 3, 2) @ q), ("V", dv)):
            part = joined(part)
            found[f"{name}{layer}"] = sums(x, part)
            dx = dx + part @ weights[f"{name}{layer}"].T
    found["pos"] = dx.sum(0)
    found["E"] = np.zeros_like(weights["E"])
    np.add.at(found["E"], inputs, dx)
    return -np.log(right[repeated] + 1e-9).mean(), found


def write(file, weights):
    """A file of safetensors with TransformerLens's names."""
    tensors = {"embed.W_E": weights["E"], "pos_embed.W_pos": weights["pos"], "unembed.W_U": weights["U"]}
    for layer in range(LAYERS):
        for name in "QKV":
            tensors[f"blocks.{layer}.attn.W_{name}"] = \
                weights[f"{name}{layer}"].reshape(WIDTH, HEADS, SIZE).transpose(1, 0, 2)
        tensors[f"blocks.{layer}.attn.W_O"] = weights[f"O{layer}"].reshape(HEADS, SIZE, WIDTH)
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        bytes_ = np.ascontiguousarray(tensor, np.float16).tobytes()
        header[name] = {"dtype": "F16", "shape": tensor.shape, "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    folder = pathlib.Path(sys.argv[1])
    last = int(sys.argv[2]) if len(sys.argv) > 2 else 700
    steps = {0} | set(np.linspace(0, last, CHECKPOINTS).round().astype(int).tolist())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    random = np.random.default_rng(0)
    weights = initial(random)
    means = {name: np.zeros_like(weight) for name, weight in weights.items()}
    squares = {name: np.zeros_like(weight) for name, weight in weights.items()}
    for step in range(last + 1):
        if step in steps:
            write(folder / f"step{step}.safetensors", weights)
        loss, found = gradients(weights, *batch(random))
        if step in steps:
            print(f"step {step}: loss on second copies {loss:.3f}", flush=True)
        rate = RATE * min(1, (step + 1) / 100)
        for name, gradient in found.items():  # Adam
            means[name] += 0.1 * (gradient - means[name])
            squares[name] += 0.02 * (gradient ** 2 - squares[name])
            mean, square = means[name] / (1 - 0.9 ** (step + 1)), squares[name] / (1 - 0.98 ** (step + 1))
            weights[name] -= rate * mean / (np.sqrt(square) + 1e-8)


if __name__ == "__main__":
    main()
