#!/usr/bin/env python3
"""Writes the seed corpora: python3 tests/fuzz/make_seeds.py; the tokenizers' are tests/data/tokenizers/shapes,
hdf5_session's is a session as damaged_session_test writes it. With the built program as argument, it also writes series/small, which
needs h5py: /usr/bin/python3 tests/fuzz/make_seeds.py build/release/app/headwise. Files found-…: the smallest that reach every edge of the code which
150 seconds of fuzzing reached (-set_cover_merge=1 -use_counters=0 -max_len=300)."""

import base64
import io
import json
import math
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import zipfile
from collections import OrderedDict
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"


def save(target, name, data):
    file = SEEDS / target / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())


def safetensors(header, payload):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + payload


def all_safetensors():
    for dtype, size in [("F32", 4), ("F16", 2), ("BF16", 2), ("F64", 8), ("I64", 8), ("BOOL", 1), ("F8_E4M3", 1)]:
        header = {"a": {"dtype": dtype, "shape": [2, 3], "data_offsets": [0, 6 * size]},
                  "b": {"dtype": dtype, "shape": [], "data_offsets": [6 * size, 7 * size]},
                  "__metadata__": {"format": "pt"}}
        save("safetensors", dtype.lower(), safetensors(header, bytes(range(7 * size))))
    save("safetensors", "empty", safetensors({}, b""))
    state = json.dumps({"quant_type": "nf4", "blocksize": 4, "shape": [3, 7], "nested_blocksize": 2, "nested_offset": 0.1})
    for name, parts in {
            "gptq": [("qweight", "I32", [4, 8]), ("qzeros", "I32", [2, 1]), ("scales", "F16", [2, 8]), ("g_idx", "I32", [32])],
            "awq": [("qweight", "I32", [8, 1]), ("qzeros", "I32", [2, 1]), ("scales", "F16", [2, 8])],
            "int8": [("weight", "I8", [2, 3]), ("SCB", "F32", [2]), ("weight_format", "U8", [])],
            "f8": [("weight", "F8_E4M3", [130, 2]), ("weight_scale_inv", "F32", [2, 1])],
            "nf4": [("weight", "U8", [11, 1]), ("weight.absmax", "U8", [6]), ("weight.quant_map", "F32", [16]),
                    ("weight.nested_absmax", "F32", [3]), ("weight.nested_quant_map", "F32", [256]),
                    ("weight.quant_state.bitsandbytes__nf4", "U8", [len(state)])]}.items():
        header, payload = {}, b""
        for part, dtype, shape in parts:
            size = math.prod(shape) * {"I32": 4, "F32": 4, "F16": 2}.get(dtype, 1)
            header["a." + part] = {"dtype": dtype, "shape": shape, "data_offsets": [len(payload), len(payload) + size]}
            payload += state.encode() if "quant_state" in part else bytes(size)
        save("safetensors", name, safetensors(header, payload))


def all_indices():
    index = {"metadata": {"total_size": 16}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    save("shard_index", "two", json.dumps(index))
    index["weight_map"]["b"] = "../b.safetensors"
    save("shard_index", "outside", json.dumps(index))
    save("shard_index", "missing", json.dumps({"weight_map": {"a": "c.safetensors"}}))


def all_configs():
    llama = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
             "intermediate_size": 96, "vocab_size": 100, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
             "hidden_act": "silu", "rope_theta": 10000.0, "tie_word_embeddings": False}
    scalings = {"linear": {"factor": 2}, "llama3": {"factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
                                                    "original_max_position_embeddings": 64},
                "yarn": {"factor": 4, "original_max_position_embeddings": 64},
                "longrope": {"short_factor": [1] * 8, "long_factor": [2] * 8,
                             "original_max_position_embeddings": 64}}
    for name, scaling in scalings.items():
        save("config", "llama-" + name,
             json.dumps({"model_type": "llama", **llama, "rope_scaling": {"rope_type": name, **scaling}}))
    for family in ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "olmo", "olmo2", "stablelm",
                   "smollm3", "mixtral", "phi"]:
        extra = {"head_dim": 16, "sliding_window": 32, "attention_bias": True, "query_pre_attn_scalar": 16,
                 "final_logit_softcapping": 30.0, "layer_types": ["full_attention", "sliding_attention"]}
        save("config", family, json.dumps({"model_type": family, **llama, **extra}))
    save("config", "gpt2", json.dumps({"model_type": "gpt2", "n_embd": 48, "n_head": 3, "n_layer": 3, "n_positions": 12,
                                       "n_ctx": 12, "vocab_size": 7, "activation_function": "gelu_new",
                                       "layer_norm_epsilon": 1e-5, "scale_attn_weights": True}))
    neox = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 256,
            "vocab_size": 100, "max_position_embeddings": 128, "layer_norm_eps": 1e-5, "hidden_act": "gelu"}
    save("config", "gpt_neox", json.dumps({"model_type": "gpt_neox", **neox, "rotary_pct": 0.25,
                                           "use_parallel_residual": True}))
    save("config", "opt", json.dumps({"model_type": "opt", **neox, "ffn_dim": 256, "word_embed_proj_dim": 64}))
    save("config", "bloom", json.dumps({"model_type": "bloom", **neox, "n_head": 4, "n_layer": 2}))
    save("config", "falcon", json.dumps({"model_type": "falcon", **neox, "new_decoder_architecture": True, "num_kv_heads": 2}))
    save("config", "bert", json.dumps({"model_type": "bert", **neox, "type_vocab_size": 2}))
    save("config", "gpt_neo", json.dumps({"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 2, "num_heads": 4,
                                          "attention_types": [[["global", "local"], 1]], "window_size": 8,
                                          "vocab_size": 100, "max_position_embeddings": 128}))
    save("config", "gptj", json.dumps({"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 64,
                                       "rotary_dim": 8, "vocab_size": 100}))
    save("config", "transformer_lens",
         json.dumps({"d_model": 64, "n_heads": 4, "d_head": 16, "n_layers": 2, "n_ctx": 32, "d_vocab": 50, "d_mlp": 128,
                     "act_fn": "gelu", "normalization_type": "LNPre", "positional_embedding_type": "rotary",
                     "rotary_dim": 16, "attn_scale": 2.0, "n_key_value_heads": 2, "gated_mlp": True}))


def all_tokenizers():
    save("tokenizer", "wordpiece", json.dumps(
        {"version": "1.0", "added_tokens": [], "normalizer": {"type": "BertNormalizer", "lowercase": True},
         "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
         "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
         "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "hel": 1, "##lo": 2, "wor": 3, "##ld": 4}}}))
    save("tokenizer", "unigram", json.dumps(
        {"added_tokens": [{"id": 0, "content": "<unk>", "special": True}], "pre_tokenizer": {"type": "Metaspace"},
         "decoder": {"type": "Metaspace"},
         "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                   "vocab": [["<unk>", 0.0], ["\u2581hel", -1.5], ["lo", -2.0], ["\u2581world", -3.0]]}}))
    save("tokenizer", "wordlevel", json.dumps(
        {"pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordLevel", "unk_token": "a",
                                                            "vocab": {"a": 0, "Hello": 1, "world": 2}}}))


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a protobuf message: a length and bytes, a float, or a whole number."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


def sentencepiece(kind):
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("<0x0A>", 0.0, 6), ("\u2581", -1.0, 1), ("h", -2.0, 1),
              ("e", -2.5, 1), ("he", -3.0, 1), ("\u2581he", -3.5, 1), ("user", 0.0, 4)]
    out = b""
    for text, score, piece in pieces:
        out += field(1, field(1, text.encode()) + field(2, score) + field(3, piece))
    trainer = field(3, kind) + field(35, 1) + field(40, 0) + field(41, 1) + field(42, 2)
    normalizer = field(1, b"identity") + field(3, 1) + field(4, 1) + field(5, 1)
    return out + field(2, trainer) + field(3, normalizer)


def all_vocabularies():
    save("vocabulary", "unigram", sentencepiece(1))
    save("vocabulary", "bpe", sentencepiece(2))
    save("vocabulary", "tiktoken", "".join(f"{base64.b64encode(bytes([i])).decode()} {i}\n" for i in range(256))
         + base64.b64encode(b"he").decode() + " 256\n")
    save("vocabulary", "bert", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhe\n##llo\nwor\n##ld\n")
    words = [(0.0, b"<unk>"), (0.0, b"\n<s>\n"), (0.0, b"\n</s>\n"), (0.0, b"<0x0A>"), (-1.0, b"h"), (-2.0, b"he")]
    save("vocabulary", "llama2c",
         struct.pack("<i", 7) + b"".join(struct.pack("<fi", score, len(text)) + text for score, text in words))


class Storage:
    def __init__(self, kind, key, count):
        self.id = ("storage", kind, key, "cpu", count)


def torch_names():
    """Stand-ins with the names that torch.save writes; what is applied to them is written down, never run."""
    for name in ["torch", "torch._utils"]:
        sys.modules[name] = types.ModuleType(name)
    torch, utils = sys.modules["torch"], sys.modules["torch._utils"]
    for name in ["FloatStorage", "HalfStorage", "BFloat16Storage", "DoubleStorage", "LongStorage"]:
        kind = type(name, (), {"__module__": "torch"})
        setattr(torch, name, kind)

    def _rebuild_tensor_v2(*_):
        pass

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    return torch, utils


class Tensor:
    def __init__(self, storage, offset, sizes, strides):
        self.arguments = (storage, offset, sizes, strides, False, OrderedDict())

    def __reduce__(self):
        return sys.modules["torch._utils"]._rebuild_tensor_v2, self.arguments


def all_pickles():
    torch, _ = torch_names()

    class Pickler(pickle._Pickler):
        def persistent_id(self, value):
            return value.id if isinstance(value, Storage) else None

    def pickled(value, protocol=2):
        out = io.BytesIO()
        Pickler(out, protocol).dump(value)
        return out.getvalue()

    def states():
        first = Storage(torch.FloatStorage, "0", 16)
        yield "plain", OrderedDict(a=Tensor(first, 0, (2, 3), (3, 1)), b=Tensor(Storage(torch.HalfStorage, "1", 4), 0, (4,), (1,)))
        yield "shared", {"model": {"a": Tensor(first, 0, (3, 2), (1, 3)), "b": Tensor(first, 6, (2, 2, 2), (4, 2, 1))},
                         "step": 7, "lr": 1e-3, "name": "x", "flags": [True, None, (1, 2)]}
        yield "double", {"a": Tensor(Storage(torch.DoubleStorage, "0", 8), 0, (), ())}
        yield "bfloat", {"a": Tensor(Storage(torch.BFloat16Storage, "0", 32), 1, (5, 2), (2, 1))}

    for name, state in states():
        for protocol in (2, 4):
            data = pickled(state, protocol)
            save("pickle", f"{name}-{protocol}", data)
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr("m/data.pkl", data)
                archive.writestr("m/version", b"3\n")
                archive.writestr("m/data/0", bytes(range(64)))
                archive.writestr("m/data/1", bytes(8))
            save("pytorch_zip", f"{name}-{protocol}", out.getvalue())


def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(metadata, tensors):
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, (kind, value) in metadata.items():
        out += gguf_string(key) + struct.pack("<I", kind)
        if kind == 4:
            out += struct.pack("<I", value)
        elif kind == 6:
            out += struct.pack("<f", value)
        elif kind == 8:
            out += gguf_string(value)
        elif kind == 9:
            inner, items = value
            out += struct.pack("<IQ", inner, len(items))
            for item in items:
                out += gguf_string(item) if inner == 8 else struct.pack("<f" if inner == 6 else "<i", item)
    offset = 0
    data = b""
    for name, shape, kind, size in tensors:
        out += gguf_string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        out += struct.pack("<IQ", kind, offset)
        data += bytes(i % 251 for i in range(size)) + bytes(-size % 32)
        offset = len(data)
    return out + bytes(-len(out) % 32) + data


def all_ggufs():
    base = {"general.architecture": (8, "llama"), "llama.context_length": (4, 64), "llama.embedding_length": (4, 32),
            "llama.block_count": (4, 1), "llama.feed_forward_length": (4, 64), "llama.attention.head_count": (4, 2),
            "llama.attention.layer_norm_rms_epsilon": (6, 1e-5), "llama.rope.dimension_count": (4, 16),
            "llama.attention.head_count_kv": (4, 2)}
    words = {"tokenizer.ggml.model": (8, "llama"),
             "tokenizer.ggml.tokens": (9, (8, ["<unk>", "<s>", "</s>", "<0x0A>", "\u2581a", "b"])),
             "tokenizer.ggml.scores": (9, (6, [0.0, 0.0, 0.0, 0.0, -1.0, -2.0])),
             "tokenizer.ggml.token_type": (9, (5, [2, 3, 3, 6, 1, 1]))}
    pairs = {"tokenizer.ggml.model": (8, "gpt2"), "tokenizer.ggml.pre": (8, "llama-bpe"),
             "tokenizer.ggml.tokens": (9, (8, ["a", "b", "ab"])), "tokenizer.ggml.merges": (9, (8, ["a b"])),
             "tokenizer.ggml.token_type": (9, (5, [1, 1, 1]))}
    for name, kind, size in [("f32", 0, 4096), ("f16", 1, 2048), ("bf16", 30, 2048), ("q4_0", 2, 576), ("q8_0", 8, 1088),
                             ("q4_k", 12, 576), ("q6_k", 14, 840), ("q4_1", 3, 640), ("q5_0", 6, 704), ("q5_1", 7, 768),
                             ("q2_k", 10, 336), ("q3_k", 11, 440), ("q5_k", 13, 704), ("q8_k", 15, 1168), ("iq4_nl", 20, 576),
                             ("iq4_xs", 23, 544)]:
        shape = [256, 4] if "_k" in name or name == "iq4_xs" else [32, 32]
        save("gguf", name, gguf({**base, **words}, [("blk.0.attn_q.weight", shape, kind, size)]))
    for name in ["gptneox", "falcon", "stablelm", "gemma3"]:
        own = {key.replace("llama.", name + "."): value for key, value in base.items()}
        own = {**own, "general.architecture": (8, name), name + ".attention.layer_norm_epsilon": (6, 1e-5),
               name + ".attention.head_count_kv": (4, 1 if name == "falcon" else 2)}
        save("gguf", name, gguf(own, [("blk.0.attn_qkv.weight", [32, 96], 0, 12288), ("blk.0.attn_q_norm.weight", [16, 2], 0, 128)]))
    for target in ["gguf", "vocabulary"]:
        save(target, "pairs", gguf({**base, **pairs}, [("token_embd.weight", [32, 6], 0, 768)]))
        save(target, "words", gguf({**base, **words}, [("token_embd.weight", [32, 6], 0, 768)]))


def npy(descr, shape, data, fortran=False, version=(1, 0)):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", len(header)) + header + data


def all_npz():
    arrays = {"f4": npy("<f4", "(2, 3)", bytes(24)), "f8": npy("<f8", "(3,)", bytes(24), version=(2, 0)),
              "f2": npy("<f2", "()", bytes(2)), "i8": npy("<i8", "(1, 1, 2)", bytes(16)),
              "fortran": npy("<f4", "(2, 3)", bytes(24), fortran=True), "big": npy(">f4", "(2,)", bytes(8))}
    for method, label in [(zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")]:
        for names in [[name] for name in arrays] + [["f4", "f8", "f2"]]:
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as archive:
                for name in names:
                    archive.writestr(zipfile.ZipInfo(name + ".npy"), arrays[name], compress_type=method)
            save("npz", label + "-" + "-".join(names), out.getvalue())


def all_hdf5_answers():
    text = lambda value: struct.pack("<Q", len(value)) + value
    save("hdf5_answer", "error", b"\0" + b"\2" + text(b"It is damaged."))
    save("hdf5_answer", "flag", b"\1" + b"\1")
    save("hdf5_answer", "numbers", b"\2" + struct.pack("<BBQQ", 4, 2, 2, 3))
    save("hdf5_answer", "entries", b"\3" + struct.pack("<Q", 2) + b"\0" + text(b"a") + b"\4" + text(b""))
    save("hdf5_answer", "attributes", b"\4" + struct.pack("<Q", 5) + text(b"a") + b"\0" + text(b"x") + text(b"b") + b"\1" +
         struct.pack("<d", 0.5) + text(b"c") + b"\2\1" + text(b"d") + b"\3" + struct.pack("<Q", 1) + text(b"y") + text(b"e") + b"\4" +
         struct.pack("<q", -3))
    save("hdf5_answer", "rows", b"\5" + struct.pack("<Q", 2) + text(b"one") + text(b""))


def all_texts():
    save("relations", "pairs.csv", "source,target\nFrance,Paris\n\"a, b\",\"c \"\"d\"\"\"\r\n\nItaly,Rome\n")
    save("relations", "pairs.json", json.dumps([["France", "Paris"], ["Italy", "Rome"]]))
    save("relations", "named.json", json.dumps({"name": "capitals", "pairs": [["France", "Paris"]]}))
    save("relations", "several.json", json.dumps([{"name": "capitals", "pairs": [["a", "b"]]}, {"name": "past", "pairs": [["go", "went"]]}]))
    save("counts", "tokens.csv", "token,count\n#1,2\nab,3.5\n\"\u2423a\",1e3\n")
    save("counts", "tokens.json", json.dumps({"#1": 2, "ab": 3, "a": 0}))
    save("counts", "tokens.npy", npy("<f8", "(8,)", bytes(56) + struct.pack("<d", 1)))
    save("counts", "pairs.csv", "first,second,count\n#1,#2,3\na,b,1\n")
    save("counts", "pairs.json", json.dumps([["#1", "#2", 3], ["a", "b", 1]]))
    part = "blocks.{layer}.attn.W_"
    tables = [{"name": "e", "is": "embed.W_E"}, {"name": "p", "is": "pos_embed.W_pos"}, {"name": "u", "is": "unembed.W_U"}]
    heads = [{"name": "b.{layer}." + x.lower(), "is": part + x} for x in "QKVO"]
    save("names_map", "plain", json.dumps({
        "headwise_names": 1, "name": "plain", "tensors": tables + heads, "ignore": ["*.f", "*.n"],
        "facts": {"normalization_type": None, "n_heads": 4}}))
    save("names_map", "fused", json.dumps({
        "headwise_names": 1, "tensors": tables + [
            {"name": "b.{layer}.f", "is": [part + x for x in "QKV"], "axes": "heads*parts*d_head, d_model"}, heads[3]],
        "ignore": ["b.*.q", "b.*.k", "b.*.v", "*.n"], "facts": {"normalization_type": None}, "assumed": {"n_heads": 2}}))
    save("names_map", "norms", json.dumps({
        "headwise_names": 1, "prefixes": ["", "x."],
        "tensors": tables[:1] + heads + [{"name": "b.{layer}.n", "is": "blocks.{layer}.ln1.w", "comment": "c"}],
        "ignore": ["*"], "facts": {"normalization_type": "RMS", "positional_embedding_type": "none",
                                   "tie_word_embeddings": True, "n_heads": 2},
        "notes": ["n"], "config": {"file": "params.json", "keys": {"eps": "e"}, "none": ["s"]}}))
    save("names_map", "skip", json.dumps({
        "headwise_names": 1, "tensors": [tables[0], {**tables[1], "skip": 1}, tables[2]] + [
            {**row, "axes": "d_model, heads*d_head" if row["name"].endswith("o") else "heads*d_head, d_model"} for row in heads],
        "ignore": ["b.0.f", "b.0.n"], "facts": {"normalization_type": None, "n_heads": 4, "d_head": 2}}))
    lora = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "bias": "none", "target_modules": ["q", "k"], "base_model_name_or_path": "org/x"}
    save("adapter", "lora", json.dumps({**lora, "fan_in_fan_out": False, "init_lora_weights": True, "modules_to_save": None}))
    save("adapter", "dora", json.dumps({**lora, "use_dora": True, "use_rslora": True, "revision": "main"}))
    save("adapter", "patterns", json.dumps({**lora, "use_dora": True, "r": 3, "rank_pattern": {"q": 2, "^l\\.k": 2},
                                            "alpha_pattern": {"l.q": 1.5}}))
    save("adapter", "refused", json.dumps({**lora, "modules_to_save": ["head"], "bias": "all", "init_lora_weights": "pissa"}))
    save("names", "lines", "Mary\nJohn \n\nMary\n \u00c9mile\n")
    save("names", "column.csv", "name\nMary\n\"O'Neil, J\"\n")
    for name, address in {"head": "demo#L1H5", "row": "demo#L1H5/OV?row=%20sap&column=%23500", "page": "/a%20b/c#1.5/spectrum",
                          "all": "demo#L0H1/full-QK?reference=L1H2&analysis=copying&direction=ov.3"}.items():
        save("address", name, address)
    save("figure", "settings", json.dumps({"format": "png", "width": 85.5, "height": 70, "unit": "in", "dpi": 300, "transparent": True,
                                           "dataBeside": True, "provenanceInData": False, "fontFamily": "Noto Sans", "fontSize": 8,
                                           "lineWidth": 1.5, "title": False, "colorBar": True, "axes": False}))
    save("figure", "scale", "map=signed fit=fixed low=-1 high=2.5 transform=symlog percentile=99 inverted=yes")


def small_series(program):
    """Three checkpoints of tests/data, as `headwise series` writes them, with two scores and one spectrum left. Their paths are neutral."""
    import h5py
    source = Path(__file__).parent.parent / "data/models/induction-series"
    kept = ("steps", "members/", "changes/", "processing", "model", "scores/previous_token", "scores/ov_subspace_overlap",
            "spectra/ov/")
    scales = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
    with tempfile.TemporaryDirectory() as folder:
        training = Path(folder) / "training"
        training.mkdir()
        for name in ["config.json", "step0.safetensors", "step144.safetensors", "step215.safetensors"]:
            shutil.copy(source / name, training)
        whole, small = Path(folder) / "whole.h5", Path(folder) / "small.h5"
        subprocess.run([program, "series", training, "-o", whole, "--analyses", "previous_token,spectra"], check=True)
        with h5py.File(whole) as old, h5py.File(small, "w", libver="latest") as new:
            def neutral(value):
                if isinstance(value, str):
                    return value.replace(folder, "")
                return value

            def copy(name, part):
                if not name.startswith(kept):
                    return
                if isinstance(part, h5py.Dataset):
                    is_text = h5py.check_string_dtype(part.dtype)
                    data = [neutral(text) for text in part.asstr()[()]] if is_text else part[()]
                    one = new.create_dataset(name, data=data, dtype=part.dtype)
                else:
                    one = new.require_group(name)
                one.attrs.update({key: neutral(value) for key, value in part.attrs.items() if key not in scales})
            new.attrs.update(old.attrs)
            old.visititems(copy)
        save("series", "small", small.read_bytes())


all_safetensors()
all_indices()
all_configs()
all_tokenizers()
all_vocabularies()
all_pickles()
all_ggufs()
all_npz()
all_hdf5_answers()
all_texts()
if len(sys.argv) > 1:
    small_series(sys.argv[1])
