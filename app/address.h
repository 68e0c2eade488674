#pragma once

#include "core/base/result.h"
#include "core/model/head_id.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace headwise::app {

/// A place in a model that can be written down: "demo#L1H5/OV?row=%20sap".
///
/// MODEL '#' LxHy ['/' PAGE] ['?' NAME=TOKEN {'&' NAME=TOKEN}], percent-encoded UTF-8. PAGE is OV, QK, full-OV, full-QK or the
/// name of a page ("spectrum"), NAME is row or column, TOKEN the token as shown, its raw text or #id ("%23500").
struct Address {
    std::filesystem::path model; ///< A model or a session, as `headwise MODEL` takes it.
    HeadId head;
    std::string page; ///< Empty: the page that is open.
    std::optional<std::string> row, column;

    bool operator==(const Address&) const = default;
};

/// MODEL may also stand as the file is called, where one of that very name exists.
/// Errors: InvalidArgument, naming the part that is wrong.
Result<Address> parseAddress(std::string_view text);

/// What parseAddress reads as the same address.
std::string addressText(const Address& address);

} // namespace headwise::app
