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
/// MODEL '#' LxHy ['/' PAGE] ['?' NAME=VALUE {'&' NAME=VALUE}], percent-encoded UTF-8. PAGE is OV, QK, full-OV, full-QK or the
/// name of a page ("spectrum"). Of a row or column VALUE is the token as shown, its raw text or #id ("%23500"); of a reference
/// a head; of an analysis its id, as in --analyses; of a direction "ov.3" or "qk.3", the third singular one.
struct Address {
    std::filesystem::path model; ///< A model or a session, as `headwise MODEL` takes it.
    HeadId head;
    std::string page; ///< Empty: the page that is open.
    std::optional<std::string> row, column;
    std::optional<HeadId> reference;
    std::optional<std::string> analysis;
    struct Direction {
        bool isQk = false;
        int number = 1; ///< From 1.

        bool operator==(const Direction&) const = default;
    };
    std::optional<Direction> direction;

    bool operator==(const Address&) const = default;
};

/// MODEL may also stand as the file is called, where one of that very name exists.
/// Errors: InvalidArgument, naming the part that is wrong.
Result<Address> parseAddress(std::string_view text);

/// What parseAddress reads as the same address.
std::string addressText(const Address& address);

} // namespace headwise::app
