#pragma once

#include <QJsonObject>

#include <functional>
#include <vector>

class QAbstractButton;
class QComboBox;
class QLineEdit;
class QTabWidget;

namespace headwise::ui {

/// Fields of a view that a session keeps. Each is described once, for writing and for reading. They are restored in this
/// order.
class ViewFields {
public:
    using Write = std::function<QJsonValue()>;
    using Read = std::function<void(const QJsonValue&)>;

    /// \param write null or an undefined value: there is nothing to keep
    /// \param read gets an undefined value from a session without this field
    ViewFields& add(const char* key, Write write, Read read);
    ViewFields& add(const char* key, QComboBox* box); ///< Its index. Default: the first.
    /// Its choice's data, or its index where the choices have none; no value for the first choice or a hidden box.
    ViewFields& addChoice(const char* key, QComboBox* box);
    ViewFields& addData(const char* key, QComboBox* box); ///< Its choice's data, a text. Default: the first.
    ViewFields& add(const char* key, QAbstractButton* button, bool usual = false);
    ViewFields& add(const char* key, QLineEdit* line);
    ViewFields& add(const char* key, QTabWidget* tabs);
    /// Adds an object with the fields of a part of the view.
    template <typename Part>
    ViewFields& addPart(const char* key, Part* part)
    {
        return add(
            key, [part] { return QJsonValue(part->viewFields().state()); },
            [part](const QJsonValue& value) { part->viewFields().restore(value.toObject()); });
    }
    ViewFields& append(ViewFields others);
    ViewFields& then(std::function<void()> step); ///< Calls `step` once the fields before it are restored.

    QJsonObject state() const;
    void restore(const QJsonObject& state) const;

private:
    struct Field {
        QLatin1String key;
        Write write;
        Read read;
    };
    std::vector<Field> m_fields;
};

} // namespace headwise::ui
