#pragma once

#include "tests/support/toy_model.h"

#include <utility>
#include <vector>

namespace headwise::test {

/// One toy for each kind of model the forward pass and the processing know.
std::vector<std::pair<const char*, ToyOptions>> toyClasses();

} // namespace headwise::test
