#include "core/model/names/names_map.h"

namespace headwise {

std::span<const NamedRole> namedRoles()
{
    using enum SizeKind;
    using enum TensorKind;
    static constexpr std::string_view wide = "d_model";
    static constexpr NamedRole all[] = {
        {"embed.W_E", W_E, Vocabulary, Model, One, "vocab, d_model"},
        {"pos_embed.W_pos", W_pos, Context, Model, One, "n_ctx, d_model"},
        {"blocks.{layer}.ln1.w", ln1_w, One, Model, One, wide},
        {"blocks.{layer}.ln1.b", ln1_b, One, Model, One, wide},
        {"blocks.{layer}.ln1_post.w", ln1_post_w, One, Model, One, wide},
        {"blocks.{layer}.ln1_post.b", ln1_post_b, One, Model, One, wide},
        {"blocks.{layer}.attn.W_Q", W_Q, Model, Head, Heads, "heads*d_head, d_model"},
        {"blocks.{layer}.attn.W_K", W_K, Model, Head, KvHeads, "heads*d_head, d_model"},
        {"blocks.{layer}.attn.W_V", W_V, Model, Head, KvHeads, "heads*d_head, d_model"},
        {"blocks.{layer}.attn.W_O", W_O, Head, Model, Heads, "d_model, heads*d_head"},
        {"blocks.{layer}.attn.b_Q", b_Q, One, Head, Heads, "heads*d_head"},
        {"blocks.{layer}.attn.b_K", b_K, One, Head, KvHeads, "heads*d_head"},
        {"blocks.{layer}.attn.b_V", b_V, One, Head, KvHeads, "heads*d_head"},
        {"blocks.{layer}.attn.b_O", b_O, One, Model, One, wide},
        {"blocks.{layer}.attn.q_norm.w", q_norm_w, One, Head, Heads, "d_head"},
        {"blocks.{layer}.attn.k_norm.w", k_norm_w, One, Head, KvHeads, "d_head"},
        {"blocks.{layer}.ln2.w", ln2_w, One, Model, One, wide},
        {"blocks.{layer}.ln2.b", ln2_b, One, Model, One, wide},
        {"blocks.{layer}.ln2_post.w", ln2_post_w, One, Model, One, wide},
        {"blocks.{layer}.ln2_post.b", ln2_post_b, One, Model, One, wide},
        {"blocks.{layer}.mlp.W_in", W_in, Model, Mlp, One, "d_mlp, d_model"},
        {"blocks.{layer}.mlp.W_gate", W_gate, Model, Mlp, One, "d_mlp, d_model"},
        {"blocks.{layer}.mlp.W_out", W_out, Mlp, Model, One, "d_model, d_mlp"},
        {"blocks.{layer}.mlp.b_in", b_in, One, Mlp, One, "d_mlp"},
        {"blocks.{layer}.mlp.b_gate", b_gate, One, Mlp, One, "d_mlp"},
        {"blocks.{layer}.mlp.b_up", b_up, One, Mlp, One, "d_mlp"},
        {"blocks.{layer}.mlp.b_out", b_out, One, Model, One, wide},
        {"blocks.{layer}.mlp.ln.w", mlp_ln_w, One, Mlp, One, "d_mlp"},
        {"blocks.{layer}.mlp.ln.b", mlp_ln_b, One, Mlp, One, "d_mlp"},
        {"ln_final.w", ln_final_w, One, Model, One, wide},
        {"ln_final.b", ln_final_b, One, Model, One, wide},
        {"unembed.W_U", W_U, Model, Outputs, One, "vocab, d_model"},
        {"unembed.b_U", b_U, One, Outputs, One, "vocab"},
    };
    return all;
}

std::vector<const NamedRole*> missingRoles(const std::set<TensorKind>& given)
{
    const auto isNeeded = [&](TensorKind kind) {
        switch (kind) {
        case TensorKind::W_E:
        case TensorKind::W_Q:
        case TensorKind::W_K:
        case TensorKind::W_V:
        case TensorKind::W_O: return true;
        case TensorKind::W_in: return given.contains(TensorKind::W_out);
        case TensorKind::W_out: return given.contains(TensorKind::W_in);
        default: return false;
        }
    };
    std::vector<const NamedRole*> missing;
    for (const NamedRole& role : namedRoles())
        if (isNeeded(role.kind) && !given.contains(role.kind))
            missing.push_back(&role);
    return missing;
}

std::string_view sizeName(SizeKind kind)
{
    using enum SizeKind;
    switch (kind) {
    case One: return "1";
    case Model: return "d_model";
    case Heads:
    case KvHeads: return "heads";
    case Head: return "d_head";
    case Mlp: return "d_mlp";
    case Vocabulary:
    case Outputs: return "vocab";
    case Context: return "n_ctx";
    case Parts: return "parts";
    }
    return {};
}

std::string axesText(const std::vector<std::vector<SizeKind>>& axes)
{
    std::string text;
    for (const auto& factors : axes) {
        text += text.empty() ? "[" : ", ";
        for (std::size_t i = 0; i < factors.size(); ++i)
            text.append(i > 0 ? "*" : "").append(sizeName(factors[i]));
    }
    return text.empty() ? "[]" : text + "]";
}

} // namespace headwise
