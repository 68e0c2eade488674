#pragma once

#include "tests/support/toy_model.h"

#include <utility>
#include <vector>

namespace headwise::test {

/// One toy for each kind of model that the forward pass and the processing support.
std::vector<std::pair<const char*, ToyOptions>> toyClasses();

} // namespace headwise::test
