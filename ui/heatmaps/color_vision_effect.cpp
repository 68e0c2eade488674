#include "ui/heatmaps/color_vision_effect.h"

#include <QGraphicsEffect>
#include <QImage>
#include <QPainter>
#include <QPixmap>
#include <QWidget>

namespace headwise::ui {

namespace {

/// Neighbouring pixels are mostly equal, so few are computed.
void simulate(QImage& image, ColorVision vision)
{
    for (int y = 0; y < image.height(); ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        QRgb last = line[0];
        const auto withAlpha = [vision](QRgb pixel) {
            return (simulated(pixel, vision) & RGB_MASK) | (pixel & ~RGB_MASK);
        };
        QRgb seen = withAlpha(last);
        for (int x = 0; x < image.width(); ++x) {
            if (line[x] != last) {
                last = line[x];
                seen = withAlpha(last);
            }
            line[x] = seen;
        }
    }
}

class ColorVisionEffect : public QGraphicsEffect {
public:
    ColorVisionEffect(ColorVision vision, QObject* parent)
        : QGraphicsEffect(parent)
        , m_vision(vision)
    {
    }

protected:
    void draw(QPainter* painter) override
    {
        QPoint corner;
        const QPixmap pixmap = sourcePixmap(Qt::DeviceCoordinates, &corner);
        QImage image = pixmap.toImage().convertToFormat(QImage::Format_ARGB32);
        simulate(image, m_vision);
        painter->save();
        painter->setWorldTransform(QTransform());
        painter->drawImage(corner, image);
        painter->restore();
    }

private:
    ColorVision m_vision;
};

} // namespace

ShownVision& ShownVision::instance()
{
    static auto* shown = new ShownVision; // Outlives every widget.
    return *shown;
}

void ShownVision::set(ColorVision vision)
{
    if (vision == m_vision)
        return;
    m_vision = vision;
    emit changed(vision);
}

void followShownVision(QWidget* picture)
{
    const auto show = [picture](ColorVision vision) {
        picture->setGraphicsEffect(vision == ColorVision::Normal ? nullptr
                                                                 : new ColorVisionEffect(vision, picture));
    };
    if (ShownVision::instance().vision() != ColorVision::Normal)
        show(ShownVision::instance().vision());
    QObject::connect(&ShownVision::instance(), &ShownVision::changed, picture, show);
}

} // namespace headwise::ui
