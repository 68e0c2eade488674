#include "ui/color_choice.h"

#include "ui/views/diagram_view.h"
#include "ui/views/heatmap_view.h"

#include <QApplication>

namespace headwise::ui {

namespace {

ColorChoice& chosen()
{
    static ColorChoice choice;
    return choice;
}

} // namespace

const ColorChoice& colorChoice()
{
    return chosen();
}

void setColorChoice(const ColorChoice& choice)
{
    const ColorChoice before = std::exchange(chosen(), choice);
    if (before == choice)
        return;
    for (QWidget* widget : QApplication::allWidgets()) {
        if (qobject_cast<DiagramView*>(widget))
            widget->update();
        auto* view = qobject_cast<HeatmapView*>(widget);
        if (!view)
            continue;
        ColorScale scale = view->colorScale();
        if (isSigned(scale.map) && scale.inverted == before.redIsNegative)
            scale.inverted = choice.redIsNegative;
        else if (scale.map == before.sequential)
            scale.map = choice.sequential;
        view->sharedScale() ? view->setColorScale(scale) : view->proposeScale(scale);
    }
}

void ColorChoice::setClass(const QString& name, const QColor& color)
{
    if (color.isValid())
        classes[name] = color;
    else
        classes.remove(name);
}

void setClassColor(const QString& name, const QColor& color)
{
    ColorChoice choice = chosen();
    choice.setClass(name, color);
    setColorChoice(choice);
    emit ColorNews::instance().classColorChanged(name, color);
}

ColorNews& ColorNews::instance()
{
    static ColorNews news;
    return news;
}

ColorScale firstScale(bool isSigned, ColorFit fit)
{
    ColorScale scale;
    scale.map = isSigned ? ColorMap::Signed : chosen().sequential;
    scale.inverted = isSigned && chosen().redIsNegative;
    scale.fit = fit;
    return scale;
}

} // namespace headwise::ui
