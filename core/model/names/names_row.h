#pragma once

#include "core/model/names/names_map.h"

#include <nlohmann/json_fwd.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace headwise {

/// Reads one row of a map; not for others than the map's reader.
/// \param number its place in the list, from 0
Result<NamesRow> readNamesRow(const nlohmann::json& value, std::size_t number, const std::string& file);

/// "Names map 'FILE': WHERE WHAT."
Error namesFault(const std::string& file, const std::string& where, const std::string& what);

/// Refuses a key that is not among those known.
Result<Done> checkNamesKeys(const nlohmann::json& object, std::initializer_list<const char*> known,
                            const std::string& file, const std::string& where);

std::string inQuotes(std::string_view text); ///< "'text'"

} // namespace headwise
