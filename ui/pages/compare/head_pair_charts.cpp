#include "ui/pages/compare/head_pair_charts.h"

#include "core/analysis/comparison/head_pair.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"

namespace headwise::ui {

HeadPairCharts::HeadPairCharts(QWidget* parent)
    : QTabWidget(parent)
    , m_spectra(new LineChart(this))
    , m_angles(new LineChart(this))
{
    m_spectra->setLook({.xTitle = tr("index"), .yTitle = tr("singular value σ"), .wholeX = true});
    m_spectra->setAccessibleName(tr("Singular values of both heads"));
    m_angles->setLook({.xTitle = tr("index"), .yTitle = tr("principal angle (degrees)"), .wholeX = true});
    m_angles->setAccessibleName(tr("Principal angles of both heads"));
    m_angles->setToolTip(tr(
        "Principal angles between the subspaces the two heads read, and between those they write. Small angles are shared directions. Dashed: random subspaces"));
    addTab(m_spectra, tr("Spectra"));
    addTab(m_angles, tr("Angles"));
    connectCharts();
}

void HeadPairCharts::connectCharts()
{
    for (LineChart* chart : {m_spectra, m_angles})
        connect(chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(
        m_angles, &LineChart::pointHovered, this, [this](const QString& series, int index, QPointF point) {
            emit readOutChanged(tr("%1   angle %2   %3°").arg(series).arg(index + 1).arg(number(point.y())));
        });
    connect(m_spectra, &LineChart::pointHovered, this,
            [this](const QString& series, int index, QPointF point) {
                emit readOutChanged(tr("%1   σ%2 = %3").arg(series).arg(index + 1).arg(number(point.y())));
            });
}

void HeadPairCharts::setPair(const HeadPair& pair, const Names& names)
{
    const auto seriesOf = [](const QString& name, const std::vector<double>& values, SeriesStyle style) {
        ChartSeries series{name, {}, style};
        for (std::size_t i = 0; i < values.size(); ++i)
            series.points << QPointF(static_cast<double>(i + 1), values[i]);
        return series;
    };
    m_spectra->setSeries({seriesOf(names.first, pair.first, SeriesStyle::Line),
                          seriesOf(names.second, pair.second, SeriesStyle::Dashed)});
    const QString left = names.isQk ? tr("queries") : tr("read"),
                  right = names.isQk ? tr("keys") : tr("written");
    std::vector<ChartSeries> angles{seriesOf(left, pair.left.angles, SeriesStyle::Line),
                                    seriesOf(right, pair.right.angles, SeriesStyle::Line)};
    if (pair.left.ofChance == pair.right.ofChance) {
        angles.push_back(seriesOf(tr("random"), pair.left.ofChance, SeriesStyle::Dashed));
    } else { // the ranks differ
        angles.push_back(seriesOf(tr("%1, random").arg(left), pair.left.ofChance, SeriesStyle::Dashed));
        angles.push_back(seriesOf(tr("%1, random").arg(right), pair.right.ofChance, SeriesStyle::Dashed));
    }
    m_angles->setSeries(angles);
}

void HeadPairCharts::clear()
{
    m_spectra->setSeries({});
    m_angles->setSeries({});
}

} // namespace headwise::ui
