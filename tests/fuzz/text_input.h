#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace headwise::fuzz {

inline std::string_view textOf(const std::uint8_t* data, std::size_t size)
{
    return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool isTrue)
{
    if (!isTrue)
        std::abort();
}

/// Checks that an answer is a value or a sentence that reports no fault of ours.
template <typename T>
bool isAnswered(const Result<T>& result)
{
    require(result || (!result.error().message.empty() && result.error().code != ErrorCode::Internal));
    return result.has_value();
}

} // namespace headwise::fuzz
