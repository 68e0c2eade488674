#include "ui/base/icons.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QSvgRenderer>

// Must be outside every namespace, as the macro requires. Without it the linker drops a static library's resources.
static void initResources()
{
    Q_INIT_RESOURCE(resources);
}

namespace headwise::ui {

namespace {

QColor strokeColor(QIcon::Mode mode)
{
    const QPalette palette = QApplication::palette();
    switch (mode) {
    case QIcon::Disabled: return palette.color(QPalette::Disabled, QPalette::Text);
    case QIcon::Selected: return palette.color(QPalette::HighlightedText);
    default: return palette.color(QPalette::WindowText);
    }
}

/// Draws an SVG whose lines have the colour "currentColor" in the colour of the surrounding text.
class StrokeIconEngine : public QIconEngine {
public:
    explicit StrokeIconEngine(QByteArray svg)
        : m_svg(std::move(svg))
    {
    }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State /*state*/) override
    {
        QByteArray colored = m_svg;
        QColor color = strokeColor(mode);
        colored.replace("currentColor", color.name().toLatin1());
        QSvgRenderer renderer(colored);
        painter->save();
        if (mode == QIcon::Disabled)
            painter->setOpacity(0.5 * painter->opacity());
        renderer.render(painter, QRectF(rect));
        painter->restore();
    }

    // Never cached: a cached pixmap would keep the colours of the theme it was made in.
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override
    {
        QPixmap image(size);
        image.fill(Qt::transparent);
        QPainter painter(&image);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return image;
    }

    QIconEngine* clone() const override { return new StrokeIconEngine(m_svg); } // Owned by the calling QIcon.

private:
    QByteArray m_svg;
};

} // namespace

QIcon icon(const char* name)
{
    initResources();
    QFile file(QStringLiteral(":/icons/%1.svg").arg(QLatin1StringView(name)));
    if (!file.open(QIODevice::ReadOnly))
        return QIcon::fromTheme(QLatin1StringView(name));
    return QIcon(new StrokeIconEngine(file.readAll())); // The QIcon owns it.
}

QIcon applicationIcon()
{
    initResources();
    return QIcon(QStringLiteral(":/org.headwise.Headwise.svg"));
}

} // namespace headwise::ui
