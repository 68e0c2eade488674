#pragma once

#include "core/results/picture.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace headwise {

/// A picture of arrays of one analysis. \param folder "analyses/NAME/"
inline Picture pictureOf(std::string_view folder, Picture::Kind kind, const char* title,
                         std::initializer_list<const char*> arrays, const char* note = "")
{
    Picture out{.kind = kind, .title = title, .arrays = {}, .note = note};
    for (const char* name : arrays)
        out.arrays.push_back(std::string(folder) + name);
    return out;
}

} // namespace headwise
