#include "ui/pages/parts/figure_subject.h"

#include "core/session/view_names.h"
#include "ui/base/text.h"
#include "ui/figures/figure_metadata.h"
#include "ui/pictures/picture_body.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QWidget>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr const char *pageProperty = "commandLinePage", *pictureProperty = "commandLinePicture";
constexpr QLatin1StringView viewLine("view"), choiceLine(choiceKey), headLine("head");

/// Tells whether the picture engine draws this widget and names it after the array.
bool isOfEngine(const QWidget* picture)
{
    while (picture && !qobject_cast<const PictureBody*>(picture))
        picture = picture->parentWidget();
    return picture;
}

} // namespace

void setSubject(FigureSource* figure, std::optional<HeadId> head)
{
    Provenance lines = figure->provenance();
    const auto isHead = [](const auto& line) { return line.first == headLine; };
    if (!head)
        lines.removeIf(isHead);
    else if (const auto line = std::ranges::find_if(lines, isHead); line != lines.end())
        line->second = text(*head);
    figure->setProvenance(lines);
}

void setView(FigureSource* figure, const QString& name, const QJsonObject& choices)
{
    Provenance lines = figure->provenance();
    lines.removeIf([](const auto& line) { return line.first == viewLine || line.first == choiceLine; });
    if (!name.isEmpty()) {
        lines.append({viewLine, name});
        for (auto choice = choices.begin(); choice != choices.end(); ++choice)
            lines.append({choiceLine, choiceText(choice.key(), choice.value())});
    }
    figure->setProvenance(lines);
}

QStringList figureChoices(const FigureSource& figure)
{
    QStringList choices;
    for (const auto& [key, value] : figure.provenance())
        if (key == choiceLine)
            choices << value;
    return choices;
}

QString choiceText(const QString& name, const QJsonValue& value)
{
    const QByteArray list = QJsonDocument(QJsonArray{value}).toJson(QJsonDocument::Compact);
    const QString words =
        value.isString() ? value.toString() : QString::fromUtf8(list.mid(1, list.size() - 2));
    return name + u'=' + words;
}

QString figureViewName(const FigureSource& figure)
{
    for (const auto& [key, value] : figure.provenance())
        if (key == viewLine)
            return value;
    return {};
}

void setPageName(QWidget* page, const QString& name)
{
    page->setProperty(pageProperty, name);
}

void setPictureName(QObject* picture, const QString& name)
{
    picture->setProperty(pictureProperty, name);
}

QString pageViewName(const QWidget* page, const FigureSource& figure)
{
    const auto* picture = dynamic_cast<const QObject*>(&figure);
    QString name = picture ? picture->property(pictureProperty).toString() : QString();
    const auto* widget = qobject_cast<const QWidget*>(picture);
    if (name.isEmpty() && widget && !isOfEngine(widget))
        name = widget->accessibleName();
    while (page && !page->property(pageProperty).isValid())
        page = page->parentWidget();
    return name.isEmpty() || !page
        ? QString()
        : page->property(pageProperty).toString() + text(std::string(pageColon)) + name;
}

} // namespace headwise::ui
