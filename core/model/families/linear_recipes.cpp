#include "core/model/families/linear_recipes.h"

namespace headwise {

StoredBias storedBias(std::optional<bool> announced)
{
    if (!announced)
        return StoredBias::AsStored;
    return *announced ? StoredBias::Present : StoredBias::Absent;
}

StoredLinear requireLinear(RecipeBook& book, const std::string& name, const LinearForm& form)
{
    StoredLinear linear{name, form};
    linear.hasWeight = form.isConv1d ? book.require(name + ".weight", {form.inputs, form.outputs})
                                     : book.require(name + ".weight", {form.outputs, form.inputs});
    if (form.bias == StoredBias::Present)
        linear.hasBias = book.require(name + ".bias", {form.outputs});
    else if (form.bias == StoredBias::AsStored)
        linear.hasBias = book.accept(name + ".bias", {form.outputs});
    return linear;
}

void addOutputs(RecipeBook& book, const StoredLinear& linear, LinearTarget target, Eigen::Index first,
                Eigen::Index size)
{
    const auto [outputs, inputs, bias, isConv1d] = linear.form;
    if (linear.hasWeight)
        book.add(target.weight, target.layer, target.head, linear.name + ".weight",
                 isConv1d ? Slice{first, inputs, size, outputs, 1}
                          : Slice{first * inputs, inputs, size, 1, inputs});
    if (linear.hasBias)
        book.add(target.bias, target.layer, target.head, linear.name + ".bias", layout::part(first, size));
}

void addHeads(RecipeBook& book, const StoredLinear& linear, LinearTarget target, int heads,
              Eigen::Index first)
{
    if (!linear.hasWeight && !linear.hasBias)
        return;
    const Eigen::Index h = book.config().dHead;
    for (target.head = 0; target.head < heads; ++target.head)
        addOutputs(book, linear, target, first + target.head * h, h);
}

void addLinear(RecipeBook& book, const std::string& name, const LinearForm& form, LinearTarget target)
{
    addOutputs(book, requireLinear(book, name, form), target, 0, form.outputs);
}

void addOutputHeads(RecipeBook& book, const StoredLinear& linear, int layer)
{
    const Eigen::Index m = linear.form.outputs, width = linear.form.inputs, h = book.config().dHead;
    for (int head = 0; head < book.config().nHeads && linear.hasWeight; ++head)
        book.add(TensorKind::W_O, layer, head, linear.name + ".weight",
                 linear.form.isConv1d ? layout::stacked(head, h, m) : Slice{head * h, h, m, 1, width});
    if (linear.hasBias)
        book.add(TensorKind::b_O, layer, 0, linear.name + ".bias", layout::part(0, m));
}

} // namespace headwise
