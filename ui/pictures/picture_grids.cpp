#include "core/results/layer_null.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/heatmap_subjects.h"
#include "ui/pictures/chart_contents.h"
#include "ui/pictures/panel_grid.h"
#include "ui/pictures/picture_body.h"
#include "ui/pictures/picture_scale.h"

#include <QLabel>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>

// Grids of heads, layers down.

namespace headwise::ui {

namespace {

/// A grid of heads for each array, up to three abreast.
class HeadGrids : public PictureBody {
public:
    HeadGrids(QWidget* parent)
        : PictureBody(parent)
        , m_grid(this)
    {
    }

    bool showsAllHeads() const override { return true; }
    QSize minimumSizeHint() const override { return m_grid.minimumSize(); }

    void showPicture(const PictureData& shown) override
    {
        m_data = shown;
        std::erase_if(m_data.arrays, [](const ResultArray* array) { return array->shape.size() != 2; });
        while (m_panels.size() < m_data.arrays.size())
            addPanel();
        for (std::size_t i = 0; i < m_panels.size(); ++i) {
            const bool used = i < m_data.arrays.size();
            m_panels[i].title->setVisible(used && m_data.arrays.size() > 1);
            m_panels[i].panel->setVisible(used);
            if (used)
                showArray(m_panels[i], *m_data.arrays[i]);
        }
        markHead();
    }

    void markHead() override
    {
        const HeadId head = context().head;
        for (std::size_t i = 0; i < std::min(m_panels.size(), m_data.arrays.size()); ++i) {
            HeatmapView* view = m_panels[i].panel->view();
            const QSignalBlocker quiet(view);
            view->zoom()->setCurrentCell(head.layer, head.head);
            const HeadId reference = context().reference.value_or(HeadId{-1, -1});
            view->onScreen().setReferenceCell(reference.layer, reference.head);
        }
    }

    void lightHead(std::optional<HeadId> head) override
    {
        for (const Panel& made : m_panels)
            made.panel->view()->onScreen().setLitCells(head ? QList{QRect(head->head, head->layer, 1, 1)}
                                                            : QList<QRect>());
    }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        std::vector<std::pair<QWidget*, QString>> all;
        for (std::size_t i = 0; i < std::min(m_panels.size(), m_data.arrays.size()); ++i)
            all.emplace_back(m_panels[i].panel->view(),
                             m_data.arrays.size() > 1 ? metricTitle(*m_data.arrays[i]) : QString());
        return all;
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        PictureBody::resizeEvent(event);
        m_grid.fit(width());
    }

private:
    struct Panel {
        QLabel* title;
        HeatmapPanel* panel;
    };

    void addPanel()
    {
        const int index = static_cast<int>(m_panels.size());
        Panel made{new QLabel(this), new HeatmapPanel(this, Qt::Horizontal)};
        made.title->setWordWrap(true);
        HeatmapView* view = made.panel->view();
        view->setCellShape(HeatmapView::CellShape::Square);
        view->content()->setRowAxis({tr("layer"), {}});
        view->content()->setColumnAxis({tr("head"), {}});
        setHeadSubjects(view);
        m_panels.push_back(made);
        m_grid.add(made.title, made.panel);
        connect(view->zoom(), &HeatmapZoom::currentCellChanged, this, [this](int row, int column) {
            if (row >= 0)
                emit headChosen({row, column});
        });
        connect(view, &HeatmapView::cellReferenced, this, [this](int row, int column) {
            emit referenceChosen(HeadId{row, column});
        });
        connect(view, &HeatmapView::hoverLeft, this, [this] {
            emit headHovered({});
            emit readOutChanged({});
        });
        connect(view, &HeatmapView::cellHovered, this, [this, view, index](int row, int column, float) {
            if (view->underMouse()) // not with a key
                emit headHovered(HeadId{row, column});
            const auto at = static_cast<std::size_t>(index);
            if (at < m_data.arrays.size())
                emit readOutChanged(readOut(*m_data.arrays[at], {row, column}));
        });
    }

    QString readOut(const ResultArray& array, HeadId head) const
    {
        const double value = metricAt(array, head);
        QString words = QStringLiteral("%1   %2 %3").arg(text(head), metricTitle(array), number(value));
        const LayerNull null = layerNull(array, head.layer);
        if (const double z = null.zScore(value); std::isfinite(z))
            words += tr("   null %1   z %2").arg(number(*null.mean), signedNumber(z));
        else if (null.mean)
            words += tr("   null %1").arg(number(*null.mean));
        return words;
    }

    void showArray(const Panel& panel, const ResultArray& array)
    {
        constexpr int aroundCells = 96; // titles, labels and the colour bar
        const auto cells = std::make_shared<Eigen::MatrixXf>(metricGrid(array));
        panel.title->setText(metricTitle(array));
        panel.title->setToolTip(text(array.definition));
        HeatmapView* view = panel.panel->view();
        view->setAccessibleName(metricTitle(array));
        view->content()->setValueTitle(valueTitle(array));
        ColorScale scale = scaleOf(m_data.picture, array, comparable(array));
        if (m_data.arrays.size() > 1)
            scale.fit = ColorFit::Fixed; // by all of them, not by this one
        view->colors()->proposeScale(scale);
        view->setMatrix(cells);
        panel.panel->setFixedHeight(std::clamp(static_cast<int>(cells->rows()) * 24 + aroundCells, 160, 420));
    }

    /// Statistics over all grids of the picture with the same unit and range: equal colours side by side mean equal numbers.
    ValueStatistics comparable(const ResultArray& array) const
    {
        ValueStatistics all;
        for (const ResultArray* other : m_data.arrays)
            if (other->unit == array.unit && other->range == array.range)
                all.add(statisticsOf(metricGrid(*other)));
        return all;
    }

    PanelGrid m_grid;
    std::vector<Panel> m_panels;
    PictureData m_data;
};

} // namespace

PictureBody* newGridsBody(QWidget* parent)
{
    return new HeadGrids(parent);
}

} // namespace headwise::ui
