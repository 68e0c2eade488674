#pragma once

#include "ui/base/job.h"

#include <QAbstractButton>
#include <QCoreApplication>
#include <QImage>
#include <QLabel>
#include <QRect>
#include <QStringList>
#include <QToolButton>
#include <QWidget>

namespace headwise::test {

/// Tells whether nothing is being computed and the window paints the same twice, with queued events in between.
inline bool isSettled(QWidget& window)
{
    const auto picture = [&window] {
        QCoreApplication::processEvents();
        return ui::JobBoard::instance().running().isEmpty() ? window.grab().toImage() : QImage();
    };
    const QImage before = picture();
    return !before.isNull() && picture() == before;
}

/// Returns an area that no widget paints, where the screen would show old content; null if there is none.
inline QRect unpainted(QWidget& window)
{
    const auto onto = [&window](Qt::GlobalColor ground) {
        QImage image(window.size(), QImage::Format_RGB32);
        image.fill(ground);
        window.render(&image);
        return image;
    };
    const QImage one = onto(Qt::magenta), other = onto(Qt::green);
    QRect found;
    for (int y = 0; y < one.height(); ++y) {
        const auto* row = reinterpret_cast<const QRgb*>(one.constScanLine(y));
        const auto* same = reinterpret_cast<const QRgb*>(other.constScanLine(y));
        for (int x = 0; x < one.width(); ++x)
            if (row[x] != same[x])
                found |= QRect(x, y, 1, 1);
    }
    return found;
}

/// "QScrollBar in QTableView Composition": the widget that should have painted there.
inline QString whoIsAt(const QWidget& window, QPoint point)
{
    QStringList names;
    for (const QWidget* widget = window.childAt(point); widget && names.size() < 4;
         widget = widget->parentWidget())
        names << QLatin1String(widget->metaObject()->className()) + u' ' + widget->accessibleName();
    return names.join(QStringLiteral(" in "));
}

/// Returns labels whose text needs more lines than they have space for.
inline QStringList cutLabels(const QWidget& window)
{
    QStringList cut;
    for (const QLabel* label : window.findChildren<QLabel*>())
        if (label->isVisible() && label->wordWrap() && !label->text().isEmpty()
            && label->heightForWidth(label->width()) > label->height() + 1)
            cut << QStringLiteral("%1 of %2 px: %3")
                       .arg(label->height())
                       .arg(label->heightForWidth(label->width()))
                       .arg(label->text().left(60));
    return cut;
}

/// Returns buttons that are narrower than their words.
inline QStringList squeezedButtons(const QWidget& page)
{
    QStringList squeezed;
    for (const QAbstractButton* button : page.findChildren<QAbstractButton*>())
        if (button->isVisible() && !button->text().isEmpty() && !qobject_cast<const QToolButton*>(button)
            && button->width() < button->minimumSizeHint().width())
            squeezed << QStringLiteral("%1: %2 of %3 px")
                            .arg(button->text())
                            .arg(button->width())
                            .arg(button->minimumSizeHint().width());
    return squeezed;
}

} // namespace headwise::test
