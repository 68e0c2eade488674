#include "core/model/families/linear_recipes.h"

namespace headwise {

StoredBias storedBias(std::optional<bool> announced)
{
    if (!announced)
        return StoredBias::AsStored;
    return *announced ? StoredBias::Present : StoredBias::Absent;
}

StoredLinear requireLinear(RecipeBook& book, const std::string& name, Eigen::Index outputs,
                           Eigen::Index inputs, StoredBias bias)
{
    StoredLinear linear{name, outputs, inputs, book.require(name + ".weight", {outputs, inputs}), false};
    if (bias == StoredBias::Present)
        linear.hasBias = book.require(name + ".bias", {outputs});
    else if (bias == StoredBias::AsStored)
        linear.hasBias = book.accept(name + ".bias", {outputs});
    return linear;
}

void addHead(RecipeBook& book, const StoredLinear& linear, LinearTarget target, int head,
             Eigen::Index firstRow)
{
    const Eigen::Index m = linear.inputs, h = book.config().dHead;
    if (linear.hasWeight)
        book.add(target.weight, target.layer, head, linear.name + ".weight", {firstRow * m, m, h, 1, m});
    if (linear.hasBias)
        book.add(target.bias, target.layer, head, linear.name + ".bias", layout::part(firstRow, h));
}

void addHeads(RecipeBook& book, const StoredLinear& linear, LinearTarget target, int heads,
              Eigen::Index firstRow)
{
    if (!linear.hasWeight && !linear.hasBias)
        return;
    const Eigen::Index h = book.config().dHead;
    for (int head = 0; head < heads; ++head)
        addHead(book, linear, target, head, firstRow + head * h);
}

void addOutputHeads(RecipeBook& book, const std::string& name, int layer, StoredBias bias)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, h = c.dHead, width = c.nHeads * h;
    const StoredLinear linear = requireLinear(book, name, m, width, bias);
    for (int head = 0; head < c.nHeads && linear.hasWeight; ++head)
        book.add(TensorKind::W_O, layer, head, name + ".weight", {head * h, h, m, 1, width});
    if (linear.hasBias)
        book.add(TensorKind::b_O, layer, 0, name + ".bias", layout::part(0, m));
}

void addRows(RecipeBook& book, const StoredLinear& linear, LinearTarget target, Eigen::Index firstRow,
             Eigen::Index size)
{
    const Eigen::Index in = linear.inputs;
    if (linear.hasWeight)
        book.add(target.weight, target.layer, 0, linear.name + ".weight", {firstRow * in, in, size, 1, in});
    if (linear.hasBias)
        book.add(target.bias, target.layer, 0, linear.name + ".bias", layout::part(firstRow, size));
}

void addLinear(RecipeBook& book, const std::string& name, const LinearForm& form, LinearTarget target)
{
    addRows(book, requireLinear(book, name, form.outputs, form.inputs, form.bias), target, 0, form.outputs);
}

void addNorm(RecipeBook& book, const std::string& name, NormKind kind, LinearTarget target)
{
    if (kind == NormKind::None || !book.config().normHasParameters)
        return;
    book.requireVector(target.weight, target.layer, name + ".weight", book.config().dModel);
    if (kind == NormKind::LayerNorm)
        book.requireVector(target.bias, target.layer, name + ".bias", book.config().dModel);
}

} // namespace headwise
