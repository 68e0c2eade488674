"""Writes the two toy models of tests/freeze/run: random weights of a fixed seed, as safetensors made by hand."""
import json
import struct

import numpy as np

LAYERS, HEADS, KV_HEADS, HEAD_DIM, D_MODEL, D_MLP, VOCABULARY, CONTEXT = 3, 6, 2, 6, 20, 28, 61, 32


def config(architecture, model_type, **further):
    return {
        "architectures": [architecture],
        "model_type": model_type,
        "hidden_size": D_MODEL,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "num_hidden_layers": LAYERS,
        "intermediate_size": D_MLP,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_theta": 523,
        **further,
    }


def layer_shapes(prefix, norms):
    """Shapes of one layer's tensors under Llama's names. A norm has one dimension."""
    shapes = {prefix + name + ".weight": (D_MODEL,) for name in norms}
    shapes |= {
        prefix + "self_attn.q_proj.weight": (HEADS * HEAD_DIM, D_MODEL),
        prefix + "self_attn.k_proj.weight": (KV_HEADS * HEAD_DIM, D_MODEL),
        prefix + "self_attn.v_proj.weight": (KV_HEADS * HEAD_DIM, D_MODEL),
        prefix + "self_attn.o_proj.weight": (D_MODEL, HEADS * HEAD_DIM),
        prefix + "mlp.gate_proj.weight": (D_MLP, D_MODEL),
        prefix + "mlp.up_proj.weight": (D_MLP, D_MODEL),
        prefix + "mlp.down_proj.weight": (D_MODEL, D_MLP),
    }
    return shapes


def random_tensors(shapes, norm_mean, seed):
    random = np.random.RandomState(seed)  # The legacy generator: its numbers are the same in every NumPy.
    tensors = {}
    for name, shape in shapes.items():
        values = random.standard_normal(shape)
        scaled = norm_mean + 0.1 * values if len(shape) == 1 else values / np.sqrt(shape[-1])
        tensors[name] = scaled.astype("<f4")
    return tensors


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(values.tobytes())


def write_model(folder, settings, norms, norm_mean, seed):
    shapes = {"model.embed_tokens.weight": (VOCABULARY, D_MODEL)}
    for layer in range(LAYERS):
        shapes |= layer_shapes(f"model.layers.{layer}.", norms)
    shapes["model.norm.weight"] = (D_MODEL,)
    if not settings["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (VOCABULARY, D_MODEL)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(settings, indent=2))
    write_safetensors(folder / "model.safetensors", random_tensors(shapes, norm_mean, seed))


def write_grouped_rotary(folder):
    """Writes a Llama-like model: six query heads over two key and value heads, rotary positions, untied."""
    settings = config("LlamaForCausalLM", "llama", hidden_act="silu", tie_word_embeddings=False)
    write_model(folder, settings, ["input_layernorm", "post_attention_layernorm"], norm_mean=1.0, seed=1)


def write_post_norms(folder):
    """Writes a Gemma-2-like model: norms behind attention and MLP, soft caps, a sliding window, tied."""
    settings = config(
        "Gemma2ForCausalLM",
        "gemma2",
        hidden_activation="gelu_pytorch_tanh",
        query_pre_attn_scalar=9,
        sliding_window=4,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
        tie_word_embeddings=True,
    )
    norms = [
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ]
    write_model(folder, settings, norms, norm_mean=0.0, seed=2)
