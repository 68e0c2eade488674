#include "ui/base/color_choice.h"

#include <utility>

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
    emit ColorNews::instance().choiceChanged(before);
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
