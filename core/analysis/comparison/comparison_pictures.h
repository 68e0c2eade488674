#pragma once

#include "core/results/picture.h"

#include <vector>

namespace headwise {

/// Pictures of two models of one kind and size (compareModels).
std::vector<Picture> changePictures();
/// Pictures of the heads of any two models, matched by the tokens they write (matchHeads).
std::vector<Picture> matchPictures();

} // namespace headwise
