#pragma once

#include "core/model/head_id.h"
#include "ui/figures/figure_export.h"

#include <QJsonObject>
#include <QString>

#include <optional>

class QObject;
class QWidget;

namespace headwise::ui {

/// Sets the head that a figure is about if it is not the selected one; none for all heads or no head.
void setSubject(FigureSource* figure, std::optional<HeadId> head);

/// Says under which name, and with which choices, `headwise export --view` draws the same figure; nothing where the name is
/// empty.
void setView(FigureSource* figure, const QString& name, const QJsonObject& choices = {});
QString figureViewName(const FigureSource& figure);    ///< As set; empty: none.
QStringList figureChoices(const FigureSource& figure); ///< As set, each as choiceText() returns it.

/// Returns "heads=2", which --choice reads back.
QString choiceText(const QString& name, const QJsonValue& value);

/// Sets the name of a page on the command line: "matrix".
void setPageName(QWidget* page, const QString& name);
/// Sets the name of a picture on its page, which holds whatever the picture shows. Default: a widget's accessible name, unless
/// the picture engine changes that.
void setPictureName(QObject* picture, const QString& name);
/// Returns "matrix: Matrix of the circuit", the name of a page's picture on the command line; empty: it has none.
/// \param page the page or a part of it
QString pageViewName(const QWidget* page, const FigureSource& figure);

} // namespace headwise::ui
