#pragma once

#include "core/model/families/linear_recipes.h"

#include <string>

namespace headwise {

// Recipes of matrices that GPT-1's and GPT-2's Conv1D stores, [inputs, outputs], a bias [outputs] being there or not.

/// c_attn with the columns of q, k and v, and c_proj. \param attention "h.3.attn."
void addConv1dAttention(RecipeBook& book, const std::string& attention, int layer);

/// The form has no say about the bias: the file decides.
void addConv1d(RecipeBook& book, const std::string& name, const LinearForm& form, LinearTarget target);

} // namespace headwise
