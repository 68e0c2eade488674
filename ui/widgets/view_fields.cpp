#include "ui/widgets/view_fields.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QLineEdit>
#include <QTabWidget>

#include <algorithm>
#include <iterator>
#include <utility>

namespace headwise::ui {

ViewFields& ViewFields::add(const char* key, Write write, Read read)
{
    m_fields.push_back({QLatin1String(key), std::move(write), std::move(read)});
    return *this;
}

ViewFields& ViewFields::add(const char* key, QComboBox* box)
{
    return add(
        key, [box] { return box->currentIndex(); },
        [box](const QJsonValue& value) {
            const int wanted = value.toInt();
            box->setCurrentIndex(wanted >= 0 && wanted < box->count() ? wanted : 0);
        });
}

ViewFields& ViewFields::addChoice(const char* key, QComboBox* box)
{
    return add(
        key,
        [box] {
            if (box->currentIndex() < 1 || box->isHidden())
                return QJsonValue(QJsonValue::Undefined);
            const QVariant data = box->currentData();
            return data.isValid() ? QJsonValue(data.toString()) : QJsonValue(box->currentIndex());
        },
        [box](const QJsonValue& value) {
            const int wanted = value.isString() ? box->findData(value.toString()) : value.toInt();
            box->setCurrentIndex(wanted >= 0 && wanted < box->count() ? wanted : 0);
        });
}

ViewFields& ViewFields::addData(const char* key, QComboBox* box)
{
    return add(
        key, [box] { return box->currentData().toString(); },
        [box](const QJsonValue& value) {
            box->setCurrentIndex(std::max(0, box->findData(value.toString())));
        });
}

ViewFields& ViewFields::add(const char* key, QAbstractButton* button, bool usual)
{
    return add(
        key, [button] { return button->isChecked(); },
        [button, usual](const QJsonValue& value) { button->setChecked(value.toBool(usual)); });
}

ViewFields& ViewFields::add(const char* key, QLineEdit* line)
{
    return add(
        key, [line] { return line->text(); },
        [line](const QJsonValue& value) { line->setText(value.toString()); });
}

ViewFields& ViewFields::add(const char* key, QTabWidget* tabs)
{
    return add(
        key, [tabs] { return tabs->currentIndex(); },
        [tabs](const QJsonValue& value) { tabs->setCurrentIndex(value.toInt()); });
}

ViewFields& ViewFields::append(ViewFields others)
{
    std::ranges::move(others.m_fields, std::back_inserter(m_fields));
    return *this;
}

ViewFields& ViewFields::then(std::function<void()> step)
{
    return add("", nullptr, [step = std::move(step)](const QJsonValue&) { step(); });
}

QJsonObject ViewFields::state() const
{
    QJsonObject state;
    for (const Field& field : m_fields)
        if (field.write)
            state[field.key] = field.write(); // An undefined value leaves the key out.
    return state;
}

void ViewFields::restore(const QJsonObject& state) const
{
    for (const Field& field : m_fields)
        field.read(state[field.key]);
}

} // namespace headwise::ui
