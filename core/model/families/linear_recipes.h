#pragma once

#include "core/model/recipes.h"

#include <optional>
#include <string>

namespace headwise {

// Recipes of matrices that torch.nn.Linear stores, [outputs, inputs] with a bias [outputs]: most families' layout.

enum class StoredBias { Absent, Present, AsStored };

/// What a config key says of biases; nothing: the file decides.
StoredBias storedBias(std::optional<bool> announced);

/// Shape and bias of an nn.Linear as a config announces them.
struct LinearForm {
    Eigen::Index outputs = 0, inputs = 0;
    StoredBias bias = StoredBias::AsStored;
};

/// What a weight and its bias become.
struct LinearTarget {
    TensorKind weight, bias;
    int layer = 0;
};

/// One nn.Linear that was looked for; what was not found adds no recipes and is a fault of the book.
struct StoredLinear {
    std::string name;
    Eigen::Index outputs = 0, inputs = 0;
    bool hasWeight = false, hasBias = false;
};

/// NAME.weight and NAME.bias. A bias that must be absent is left over, which the book refuses.
StoredLinear requireLinear(RecipeBook& book, const std::string& name, Eigen::Index outputs,
                           Eigen::Index inputs, StoredBias bias);

/// One head of q, k or v: rows [firstRow, firstRow + d_head).
void addHead(RecipeBook& book, const StoredLinear& linear, LinearTarget target, int head,
             Eigen::Index firstRow);

/// q, k or v stored head after head.
void addHeads(RecipeBook& book, const StoredLinear& linear, LinearTarget target, int heads,
              Eigen::Index firstRow = 0);

/// W_O of every head, stored [d_model, n_heads · d_head], and b_O.
void addOutputHeads(RecipeBook& book, const std::string& name, int layer, StoredBias bias);

/// `size` rows as one canonical matrix [inputs, size].
void addRows(RecipeBook& book, const StoredLinear& linear, LinearTarget target, Eigen::Index firstRow,
             Eigen::Index size);

/// The whole of NAME as one canonical matrix [inputs, outputs].
void addLinear(RecipeBook& book, const std::string& name, const LinearForm& form, LinearTarget target);

/// NAME.weight and, for a LayerNorm, NAME.bias, [d_model]; nothing if this model's norms have no parameters.
void addNorm(RecipeBook& book, const std::string& name, NormKind kind, LinearTarget target);

} // namespace headwise
