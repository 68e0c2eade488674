#include "core/model/families/conv1d_recipes.h"

namespace headwise {

void addConv1dAttention(RecipeBook& book, const std::string& attention, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, h = c.dHead;
    const std::string fused = attention + "c_attn.weight", fusedBias = attention + "c_attn.bias";
    const std::string output = attention + "c_proj.weight";
    const TensorKind weights[] = {TensorKind::W_Q, TensorKind::W_K, TensorKind::W_V};
    const TensorKind biases[] = {TensorKind::b_Q, TensorKind::b_K, TensorKind::b_V};
    const bool hasFused = book.require(fused, {m, 3 * m});
    const bool hasFusedBias = book.accept(fusedBias, {3 * m});
    const bool hasOutput = book.require(output, {m, m});
    for (int head = 0; head < c.nHeads && (hasFused || hasFusedBias || hasOutput); ++head) {
        for (int part = 0; part < 3; ++part) {
            const Eigen::Index first = part * m + head * h;
            if (hasFused)
                book.add(weights[part], layer, head, fused, {first, m, h, 3 * m, 1});
            if (hasFusedBias)
                book.add(biases[part], layer, head, fusedBias, layout::part(first, h));
        }
        if (hasOutput)
            book.add(TensorKind::W_O, layer, head, output, layout::stacked(head, h, m));
    }
    book.acceptVector(TensorKind::b_O, layer, attention + "c_proj.bias", m);
}

void addConv1d(RecipeBook& book, const std::string& name, const LinearForm& form, LinearTarget target)
{
    if (book.require(name + ".weight", {form.inputs, form.outputs}))
        book.add(target.weight, target.layer, 0, name + ".weight", layout::plain(form.inputs, form.outputs));
    book.acceptVector(target.bias, target.layer, name + ".bias", form.outputs);
}

} // namespace headwise
