#pragma once

#include <QJsonValue>
#include <QString>

#include <string>
#include <type_traits>

namespace headwise::ui {

/// Settings are written to JSON and read back by one function that visits each field with its name. These convert one field;
/// a file with fields of an enumeration adds its own overloads.
template <typename Value>
requires(!std::is_enum_v<Value>) QJsonValue fieldJson(const Value& value)
{
    if constexpr (std::is_same_v<Value, std::string>)
        return QString::fromStdString(value);
    else
        return value;
}

/// Reads what fieldJson() returns. Other values leave `value` as it is.
template <typename Value>
requires(!std::is_enum_v<Value>) void readField(const QJsonValue& json, Value& value)
{
    if constexpr (std::is_same_v<Value, std::string>)
        value = json.toString(QString::fromStdString(value)).toStdString();
    else if constexpr (std::is_same_v<Value, bool>)
        value = json.toBool(value);
    else if constexpr (std::is_same_v<Value, int>)
        value = json.toInt(value);
    else
        value = json.toDouble(value);
}

} // namespace headwise::ui
