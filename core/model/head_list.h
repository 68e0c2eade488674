#pragma once

#include "core/base/result.h"
#include "core/model/head_id.h"

#include <string>
#include <vector>

namespace headwise {

/// The heads that "0.1, 2.*, L3H4" names in a model, in order, each once; a star stands for every layer or head.
/// Errors: InvalidArgument naming the part that is no head, or the head this model does not have.
Result<std::vector<HeadId>> parseHeads(const std::string& text, int nLayers, int nHeads);

/// "5.1, 9.6", which parseHeads() reads back.
std::string headNames(const std::vector<HeadId>& heads);

} // namespace headwise
