#pragma once

#include "core/base/result.h"
#include "core/model/head_id.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace headwise::app {

/// The address of a place in a model: "demo#L1H5/OV?row=%20sap".
///
/// MODEL '#' LxHy ['/' PAGE] ['?' NAME=VALUE {'&' NAME=VALUE}], percent-encoded UTF-8. PAGE is OV, QK, full-OV, full-QK
/// or the name of a page ("spectrum"). The VALUE of a row or column is the token as shown, its raw text or #id
/// ("%23500"); of a reference, a head; of an analysis, its id as in --analyses; of a direction, "ov.3" or "qk.3" for the
/// third singular direction; of a stack, its name ("encoder").
struct Address {
    std::filesystem::path model; ///< Path of a model or session, as in `headwise MODEL`.
    HeadId head;
    std::string page; ///< Empty: the current page.
    std::optional<std::string> row = {}, column = {};
    std::optional<HeadId> reference = {};
    std::optional<std::string> analysis = {};
    struct Direction {
        bool isQk = false;
        int number = 1; ///< counted from 1

        bool operator==(const Direction&) const = default;
    };
    std::optional<Direction> direction = {};
    std::optional<std::string> stack = {}; ///< Absent: the stack that opens by itself.

    bool operator==(const Address&) const = default;
};

/// Parses an address. MODEL need not be percent-encoded if a file with that exact name exists.
/// Errors: InvalidArgument, naming the part that is wrong.
Result<Address> parseAddress(std::string_view text);

/// Formats an address so that parseAddress reads it back.
std::string addressText(const Address& address);

} // namespace headwise::app
