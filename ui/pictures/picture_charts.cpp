#include "ui/base/text.h"
#include "ui/charts/small_multiples.h"
#include "ui/pictures/chart_contents.h"
#include "ui/pictures/metric_choice.h"
#include "ui/pictures/picture_multiples.h"
#include "ui/widgets/subject.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <numbers>

// Pictures on a pair of axes.

namespace headwise::ui {

namespace {

using PictureChartsKind = Picture::Kind;

class ChartBody : public PictureBody {
public:
    ChartBody(PictureChartsKind kind, QWidget* parent)
        : PictureBody(parent)
        , m_kind(kind)
        , m_heads(new QComboBox(this))
        , m_chart(new LineChart(this))
        , m_multiples(new SmallMultiples(this))
    {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(4);
        layout->addWidget(m_heads, 0, Qt::AlignLeft);
        if (hasPointPerHead()) {
            m_metrics = new MetricChoice(kind, this);
            layout->addWidget(m_metrics);
            connect(m_metrics, &MetricChoice::changed, this, [this] {
                showPicture(PictureData(m_data));
                emit captionChanged();
            });
        }
        layout->addWidget(m_chart);
        layout->addWidget(m_multiples);
        if (m_kind == PictureChartsKind::Histogram)
            m_heads->addItems({tr("Number of heads"), tr("Boxes by layer")});
        else
            m_heads->addItems({tr("This head"), tr("Every head of its layer"), tr("Every head")});
        introduceMultiples(this, m_heads, m_multiples, [this] { showPicture(PictureData(m_data)); });
        m_chart->setFixedHeight(hasPointPerHead() ? 340 : 280);
        connect(m_chart, &LineChart::hoverLeft, this, [this] {
            if (hasPointPerHead())
                emit headHovered({});
            emit readOutChanged({});
        });
        connect(m_chart, &LineChart::pointHovered, this, &ChartBody::hover);
        connect(m_chart, &LineChart::pointClicked, this, &ChartBody::choose);
        setSubjects(m_chart, [this](const QPoint& position) { return subjectAt(position); });
    }

    bool showsAllHeads() const override
    {
        return hasPointPerHead() || m_kind == PictureChartsKind::Histogram;
    }
    QString caption() const override { return m_contents.caption; }
    void markHead() override { showPicture(PictureData(m_data)); }

    void showPicture(const PictureData& shown) override
    {
        constexpr std::size_t mostBaselines = 4; // The caption has them all.
        m_data = shown;
        m_heads->setVisible(m_kind == PictureChartsKind::Histogram || (!m_fillsPlace && isOfEachHead()));
        m_contents = contents();
        if (m_contents.baselines.size() > mostBaselines)
            m_contents.baselines.clear();
        m_chart->setMessage(m_contents.message);
        m_chart->setColorWords(m_contents.caption);
        showContents();
        m_chart->setAccessibleName(text(shown.picture.title));
        const bool several = isOfEachHead() && (isWhole() || m_heads->currentIndex() > 0);
        m_chart->setVisible(!several);
        m_multiples->setVisible(several);
        if (several)
            showMultiples();
    }

    void lightHead(std::optional<HeadId> head) override
    {
        m_multiples->setLit(head);
        if (!hasPointPerHead())
            return;
        const int heads = context().card.nHeads, all = heads * context().card.nLayers;
        const auto cloud = std::ranges::find_if(
            m_contents.series, [all](const ChartSeries& one) { return one.points.size() == all; });
        m_chart->setLitPoint(head && cloud != m_contents.series.end()
                                 ? std::optional(cloud->points.value(head->layer * heads + head->head))
                                 : std::nullopt);
    }

    void showMessage(const QString& message) override
    {
        m_contents = {};
        m_chart->setMessage(message);
        showContents();
    }

    void fillPlace() override
    {
        m_fillsPlace = true;
        m_chart->setMinimumHeight(0);
        m_chart->setMaximumHeight(QWIDGETSIZE_MAX);
    }

    ViewFields choices() override
    {
        ViewFields fields;
        fields.addChoice("heads", m_heads);
        return m_metrics ? fields.append(m_metrics->choices()) : fields;
    }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        const bool empty = std::ranges::all_of(m_contents.series,
                                               [](const ChartSeries& one) { return one.points.isEmpty(); });
        if (empty)
            return {};
        if (m_multiples->isVisibleTo(this))
            return {{m_multiples, tr("head by head")}};
        return {{m_chart, QString()}};
    }

private:
    /// Shows the contents; the same as before keep the visible range.
    void showContents()
    {
        if (m_chart->look() == m_contents.look && m_chart->baselines() == m_contents.baselines
            && m_chart->brackets() == m_contents.brackets && m_chart->series() == m_contents.series)
            return;
        m_chart->setLook(m_contents.look);
        m_chart->setBaselines(m_contents.baselines);
        m_chart->setBrackets(m_contents.brackets);
        m_chart->setSeries(m_contents.series);
    }

    ChartContents contents()
    {
        if (!showsAllHeads()) {
            PictureContext cut = context();
            cut.isCut = cut.isCut || (isWhole() && isOfEachHead());
            return seriesContents(m_data, cut);
        }
        if (m_kind == PictureChartsKind::Histogram && m_heads->currentIndex() > 0)
            return boxContents(m_data, context());
        return headContents(m_metrics ? m_metrics->applied(m_data, context().card) : m_data, context());
    }

    /// Whether a figure asks for every head at once.
    bool isWhole() const { return context().isPaper && !context().isCut; }

    /// Whether it says something else of every head, by the heads' own lines.
    bool isOfEachHead() const
    {
        return (m_kind == PictureChartsKind::Lines || m_kind == PictureChartsKind::Bars)
            && std::ranges::any_of(m_data.arrays, [this](const ResultArray* array) {
                   return headAxes(*array, context().card) == HeadAxes::OneHead && array->shape.size() == 3;
               });
    }

    void showMultiples()
    {
        constexpr int ofLayer = 1, leastTile = 34, largestTile = 120;
        const ModelCard& card = context().card;
        const HeadId now = context().head;
        const bool one = m_heads->currentIndex() == ofLayer;
        PictureContext each = context();
        each.isCut = true;
        std::vector<HeadCurves> heads;
        for (int layer = one ? now.layer : 0; layer < (one ? now.layer + 1 : card.nLayers); ++layer)
            for (int head = 0; head < card.nHeads; ++head) {
                each.head = {layer, head};
                heads.push_back({each.head, seriesContents(m_data, each).series});
            }
        const int columns = one ? std::min(card.nHeads, 4) : card.nHeads;
        const int rows = (static_cast<int>(heads.size()) + columns - 1) / columns;
        const int tile = std::clamp(840 / rows, leastTile, largestTile);
        m_multiples->setFixedHeight(rows * tile + 3 * QFontMetrics(m_multiples->font()).height());
        m_multiples->setAccessibleName(tr("%1, head by head").arg(text(m_data.picture.title)));
        m_multiples->setCurves(m_contents.look, std::move(heads), columns);
        m_multiples->setCurrent(now);
    }

    bool hasPointPerHead() const
    {
        return m_kind == PictureChartsKind::HeadPlane || m_kind == PictureChartsKind::HeadMap;
    }
    HeadId headOf(int index) const
    {
        const int heads = std::max(1, context().card.nHeads);
        return {index / heads, index % heads};
    }

    void hover(const QString& series, int index, QPointF point)
    {
        if (!m_contents.symbol.isEmpty())
            return emit readOutChanged(readOut(series, index, point));
        QString name = series;
        if (hasPointPerHead() && series.isEmpty() && m_chart->underMouse()) // not with a key
            emit headHovered(headOf(index));
        if (hasPointPerHead())
            name = series.isEmpty() ? text(headOf(index)) : series;
        else if (m_contents.names)
            name += (name.isEmpty() ? QString() : QStringLiteral("   ")) + m_contents.names(index);
        const bool isNamed = m_contents.names && m_kind != PictureChartsKind::Points;
        const QString x = isNamed ? QString() : number(point.x()) + QStringLiteral("   ");
        emit readOutChanged(QStringLiteral("%1   %2%3").arg(name, x, number(point.y())));
    }

    /// A point by the symbol of its axis: "QK   σ3 = 1.2", "Δ = 3   −0.1   ± 0.02".
    QString readOut(const QString& series, int index, QPointF point) const
    {
        QStringList words{series};
        if (m_contents.symbol == u"λ")
            words << tr("λ%1 = %2 %3 i").arg(index + 1).arg(number(point.x()), signedNumber(point.y()))
                  << tr("|λ| %1, angle %2°")
                         .arg(number(std::hypot(point.x(), point.y())),
                              number(std::atan2(point.y(), point.x()) * 180 / std::numbers::pi));
        else if (m_contents.symbol == u"σ")
            words << QStringLiteral("σ%1 = %2").arg(index + 1).arg(number(point.y()));
        else
            words << QStringLiteral("%1 = %2").arg(m_contents.symbol, placeOf(index, point))
                  << signedNumber(point.y());
        const auto of = std::ranges::find(m_contents.series, series, &ChartSeries::name);
        if (of != m_contents.series.end() && static_cast<std::size_t>(index) < of->errors.size())
            words << QStringLiteral("± %1").arg(number(of->errors[static_cast<std::size_t>(index)]));
        words.removeAll(QString());
        return words.join(QStringLiteral("   "));
    }

    Subject subjectAt(const QPoint& position) const
    {
        Subject subject;
        const auto point = m_chart->pointAt(position);
        if (point && hasPointPerHead() && point->first.isEmpty())
            subject.heads = {headOf(point->second)};
        else if (point && m_contents.tokens && m_contents.tokens(point->second) >= 0)
            subject.token = m_contents.tokens(point->second);
        return subject;
    }

    /// The place of a point along its axis: its number, of a frequency also the wavelength.
    QString placeOf(int index, QPointF point) const
    {
        return m_contents.symbol == u"m" && m_contents.names ? m_contents.names(index)
                                                             : QString::number(point.x());
    }

    void choose(const QString& series, int index)
    {
        if (hasPointPerHead() && series.isEmpty())
            emit headChosen(headOf(index));
        else if (m_contents.tokens)
            emit tokenChosen(m_contents.tokens(index));
    }

    PictureChartsKind m_kind;
    QComboBox* m_heads;
    MetricChoice* m_metrics = nullptr; // where there is a point per head
    LineChart* m_chart;
    SmallMultiples* m_multiples;
    PictureData m_data;
    ChartContents m_contents;
    bool m_fillsPlace = false; // of a page, instead of the height of a card
};

} // namespace

PictureBody* newChartBody(Picture::Kind kind, QWidget* parent)
{
    return new ChartBody(kind, parent);
}

} // namespace headwise::ui
