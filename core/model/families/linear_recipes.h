#pragma once

#include "core/model/recipes.h"

#include <optional>
#include <string>

namespace headwise {

// Recipes of stored linear maps: torch.nn.Linear's [outputs, inputs] or GPT-2's Conv1D's [inputs, outputs], with a bias [outputs].

enum class StoredBias { Absent, Present, AsStored };

/// Translates a config key about biases; nothing: the file decides.
StoredBias storedBias(std::optional<bool> announced);

/// Shape and bias of a linear map as a config announces them.
struct LinearForm {
    Eigen::Index outputs = 0, inputs = 0;
    StoredBias bias = StoredBias::AsStored;
    bool isConv1d = false;
};

/// The canonical tensors that a weight and its bias become.
struct LinearTarget {
    TensorKind weight, bias;
    int layer = 0, head = 0;
};

/// One linear map that was looked for; what was not found adds no recipes and is a fault of the book.
struct StoredLinear {
    std::string name;
    LinearForm form;
    bool hasWeight = false, hasBias = false;
};

/// NAME.weight and NAME.bias. A bias that must be absent is left over, which the book refuses.
StoredLinear requireLinear(RecipeBook& book, const std::string& name, const LinearForm& form);

/// Outputs [first, first + size) as one canonical matrix [inputs, size].
void addOutputs(RecipeBook& book, const StoredLinear& linear, LinearTarget target, Eigen::Index first,
                Eigen::Index size);

/// q, k or v stored head after head.
void addHeads(RecipeBook& book, const StoredLinear& linear, LinearTarget target, int heads,
              Eigen::Index first = 0);

/// The whole of NAME as one canonical matrix [inputs, outputs].
void addLinear(RecipeBook& book, const std::string& name, const LinearForm& form, LinearTarget target);

/// W_O of every head, from n_heads · d_head inputs, and b_O.
void addOutputHeads(RecipeBook& book, const StoredLinear& linear, int layer);

} // namespace headwise
