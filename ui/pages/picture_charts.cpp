#include "ui/pages/chart_contents.h"
#include "ui/text.h"

#include <QVBoxLayout>

#include <algorithm>

// Pictures on a pair of axes.

namespace headwise::ui {

namespace {

using Kind = Picture::Kind;

class ChartBody : public PictureBody {
public:
    ChartBody(Kind kind, Workspace* workspace, QWidget* parent)
        : PictureBody(workspace, parent)
        , m_kind(kind)
        , m_chart(new LineChart(this))
    {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->addWidget(m_chart);
        m_chart->setFixedHeight(hasPointPerHead() ? 340 : 280);
        connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
        connect(m_chart, &LineChart::pointHovered, this, &ChartBody::hover);
        connect(m_chart, &LineChart::pointClicked, this, &ChartBody::choose);
    }

    bool showsAllHeads() const override { return hasPointPerHead() || m_kind == Kind::Histogram; }
    QString caption() const override { return m_contents.caption; }
    void markHead() override { showPicture(PictureData(m_data)); }

    void showPicture(const PictureData& shown) override
    {
        constexpr std::size_t mostBaselines = 4; // The caption has them all.
        m_data = shown;
        m_contents =
            showsAllHeads() ? headContents(shown, *workspace()) : seriesContents(shown, *workspace());
        if (m_contents.baselines.size() > mostBaselines)
            m_contents.baselines.clear();
        m_chart->setMessage(m_contents.message);
        m_chart->setLook(m_contents.look);
        m_chart->setBaselines(m_contents.baselines);
        m_chart->setSeries(m_contents.series);
        m_chart->setAccessibleName(text(shown.picture.title));
    }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        const bool empty = std::ranges::all_of(m_contents.series,
                                               [](const ChartSeries& one) { return one.points.isEmpty(); });
        if (empty)
            return {};
        return {{m_chart, QString()}};
    }

private:
    bool hasPointPerHead() const { return m_kind == Kind::HeadPlane || m_kind == Kind::HeadMap; }
    HeadId headOf(int index) const
    {
        const int heads = std::max(1, workspace()->card().nHeads);
        return {index / heads, index % heads};
    }

    void hover(const QString& series, int index, QPointF point)
    {
        QString name = series;
        if (hasPointPerHead())
            name = series.isEmpty() ? text(headOf(index)) : series;
        else if (m_contents.names)
            name += (name.isEmpty() ? QString() : QStringLiteral("   ")) + m_contents.names(index);
        const bool isNamed = m_contents.names && m_kind != Kind::Points;
        const QString x = isNamed ? QString() : number(point.x()) + QStringLiteral("   ");
        emit readOutChanged(QStringLiteral("%1   %2%3").arg(name, x, number(point.y())));
    }

    void choose(const QString& series, int index)
    {
        if (hasPointPerHead() && series.isEmpty())
            workspace()->setHead(headOf(index));
        else if (m_contents.tokens)
            workspace()->setToken(m_contents.tokens(index));
    }

    Kind m_kind;
    LineChart* m_chart;
    PictureData m_data;
    ChartContents m_contents;
};

} // namespace

PictureBody* newChartBody(Picture::Kind kind, Workspace* workspace, QWidget* parent)
{
    return new ChartBody(kind, workspace, parent);
}

} // namespace headwise::ui
