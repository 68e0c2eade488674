#pragma once

#include <string>
#include <vector>

namespace headwise::app {

/// Formats "1,2,3", as --tokens takes it.
inline std::string tokenList(const std::vector<int>& tokens)
{
    std::string text;
    for (const int token : tokens)
        text += (text.empty() ? "" : ",") + std::to_string(token);
    return text;
}

} // namespace headwise::app
