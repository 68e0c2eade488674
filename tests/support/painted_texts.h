#pragma once

#include <QColor>
#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPixmap>
#include <QRectF>
#include <QString>

#include <vector>

namespace headwise::test {

/// A text as it was painted.
struct PaintedText {
    QString words;
    QRectF ink; ///< Extent of its ink in the device.
    QColor color;
};

/// Takes the place of a widget of that size and notes the texts that are painted on it.
class TextCollector : public QPaintDevice {
public:
    explicit TextCollector(const QSize& size)
        : m_size(size)
        , m_engine(this)
    {
    }

    const std::vector<PaintedText>& texts() const { return m_engine.texts; }
    QPaintEngine* paintEngine() const override { return &m_engine; }

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        constexpr int dpi = 96; // as Qt::AA_Use96Dpi has it
        switch (metric) {
        case PdmWidth: return m_size.width();
        case PdmHeight: return m_size.height();
        case PdmWidthMM: return m_size.width() * 254 / (10 * dpi);
        case PdmHeightMM: return m_size.height() * 254 / (10 * dpi);
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY: return dpi;
        case PdmDepth: return 32;
        case PdmDevicePixelRatio: return 1;
        case PdmDevicePixelRatioScaled: return static_cast<int>(devicePixelRatioFScale());
        default: return QPaintDevice::metric(metric);
        }
    }

private:
    class Engine : public QPaintEngine {
    public:
        explicit Engine(QPaintDevice* device)
            : QPaintEngine(AllFeatures)
            , m_device(device)
        {
        }

        bool begin(QPaintDevice* /*device*/) override { return true; }
        bool end() override { return true; }
        Type type() const override { return User; }
        void updateState(const QPaintEngineState& now) override
        {
            if (now.state() & DirtyTransform)
                m_transform = now.transform();
            if (now.state() & DirtyPen)
                m_color = now.pen().color();
        }
        void drawTextItem(const QPointF& at, const QTextItem& item) override
        {
            const QRectF ink =
                QFontMetricsF(item.font(), m_device).tightBoundingRect(item.text()).translated(at);
            // A text with letters of several fonts comes in parts.
            const bool goesOn =
                !texts.empty() && m_transform == m_transformBefore && (at - m_end).manhattanLength() < 0.01;
            m_transformBefore = m_transform;
            m_end = at + QPointF(item.width(), 0);
            if (goesOn) {
                texts.back().words += item.text();
                texts.back().ink |= m_transform.mapRect(ink);
            } else if (!ink.isEmpty()) {
                texts.push_back({item.text(), m_transform.mapRect(ink), m_color});
            }
        }
        void drawPath(const QPainterPath& /*path*/) override { }
        void drawPolygon(const QPointF* /*points*/, int /*count*/, PolygonDrawMode /*mode*/) override { }
        void drawPixmap(const QRectF& /*to*/, const QPixmap& /*pixmap*/, const QRectF& /*from*/) override { }

        std::vector<PaintedText> texts;

    private:
        QPaintDevice* m_device;
        QTransform m_transform, m_transformBefore;
        QPointF m_end; // of the text before
        QColor m_color;
    };

    QSize m_size;
    mutable Engine m_engine;
};

} // namespace headwise::test
