#include "ui/models/array_table_model.h"
#include "ui/pages/picture_body.h"
#include "ui/pages/table_cells.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/diagram_view.h"
#include "ui/views/table_figure.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSlider>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

// Pictures made of rows, and of heads with arrows between them.

namespace headwise::ui {

namespace {

class TableBody : public PictureBody {
public:
    TableBody(Workspace* workspace, QWidget* parent)
        : PictureBody(workspace, parent)
        , m_model(new ArrayTableModel(this))
        , m_table(new TableFigure(this))
    {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->addWidget(m_table);
        m_table->setSource(m_model, ArrayTableModel::SortRole);
        connect(m_table, &TableFigure::rowChosen, this, [this](int row) {
            const std::vector<HeadId> heads = m_model->headsAt(row);
            if (heads.size() > 1)
                this->workspace()->setReference(heads.front());
            if (!heads.empty())
                this->workspace()->setHead(heads.back());
            if (const auto token = m_model->tokenAt(row))
                this->workspace()->setToken(*token);
        });
    }

    QString caption() const override { return m_caption; }
    bool showsAllHeads() const override { return m_ofAllHeads; }

    void showPicture(const PictureData& shown) override
    {
        std::vector<ArrayPart> parts;
        m_caption.clear();
        const auto isAtHead = [this](const ResultArray* array) {
            return headAxes(*array, workspace()->card()) != HeadAxes::None;
        };
        const auto isOfHeads = [this](const ResultArray* array) {
            return array->shape.size() == 2 && headAxes(*array, workspace()->card()) == HeadAxes::OneHead;
        };
        const bool everyHead = std::ranges::all_of(shown.arrays, isOfHeads);
        m_ofAllHeads = everyHead || std::ranges::none_of(shown.arrays, isAtHead);
        for (const ResultArray* array : shown.arrays) {
            const auto part =
                everyHead ? std::optional(wholeArray(*array)) : cutAtHeads(*array, *workspace());
            if (part)
                parts.push_back(*part);
            else
                m_caption = headAxes(*array, workspace()->card()) == HeadAxes::TwoHeads
                    ? tr("Mark another head as the reference: Shift+click it in the grid.")
                    : tr("This head was left out of the computation.");
        }
        m_model->setParts(shown.results, parts, *workspace());
        m_table->setAccessibleName(text(shown.picture.title));
        QHeaderView* header = m_table->horizontalHeader();
        const int columns = m_model->columnCount();
        header->setDefaultSectionSize(120);
        if (columns <= 12)
            fitColumns(m_table);
        constexpr int scrollBar = 24; // px, with the frame
        const int height = m_model->rowCount() * 24 + header->sizeHint().height() + scrollBar;
        m_table->setFixedHeight(std::clamp(height, 90, 320));
        if (m_model->rowCount() > 12)
            m_caption = (m_caption.isEmpty() ? QString() : m_caption + u' ')
                + tr("%1 rows.").arg(count(m_model->rowCount()));
    }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        if (m_model->rowCount() == 0)
            return {};
        return {{m_table, QString()}};
    }

private:
    ArrayTableModel* m_model;
    TableFigure* m_table;
    QString m_caption;
    bool m_ofAllHeads = false; // another head changes nothing: scrolling and selected rows stay
};

class DiagramBody : public PictureBody {
public:
    DiagramBody(Workspace* workspace, QWidget* parent)
        : PictureBody(workspace, parent)
        , m_diagram(new DiagramView(this))
        , m_slider(new QSlider(Qt::Horizontal, this))
        , m_howMany(new QLabel(this))
    {
        m_slider->setRange(1, 200);
        m_slider->setValue(30);
        m_slider->setMaximumWidth(240);
        m_slider->setAccessibleName(tr("How many edges"));
        makeSecondary(m_howMany);
        auto* controls = new QHBoxLayout;
        controls->setSpacing(8);
        controls->addWidget(m_slider);
        controls->addWidget(m_howMany, 1);
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(8);
        layout->addLayout(controls);
        layout->addWidget(m_diagram);
        connect(m_slider, &QSlider::valueChanged, this, [this] { showEdges(); });
        connect(m_diagram, &DiagramView::headClicked, this,
                [this](HeadId head) { this->workspace()->setHead(head); });
        connect(m_diagram, &DiagramView::headHovered, this,
                [this](const QString& words) { emit readOutChanged(words); });
    }

    bool showsAllHeads() const override { return true; }

    void showPicture(const PictureData& shown) override
    {
        constexpr std::size_t mostEdges = 200;
        m_data = shown;
        m_all.clear();
        m_diagram->setMessage(tr("The results have no such array."));
        if (!shown.arrays.empty()
            && headAxes(*shown.arrays.front(), workspace()->card()) == HeadAxes::TwoHeads)
            collect(*shown.arrays.front());
        const auto end = m_all.begin() + static_cast<std::ptrdiff_t>(std::min(mostEdges, m_all.size()));
        std::partial_sort(m_all.begin(), end, m_all.end(), [](const DiagramEdge& a, const DiagramEdge& b) {
            return std::abs(a.value) > std::abs(b.value);
        });
        m_all.erase(end, m_all.end());
        const ModelCard& card = workspace()->card();
        m_diagram->setHeads(card.nLayers, card.nHeads);
        m_diagram->setFixedHeight(std::clamp(card.nLayers * 44 + 60, 220, 560));
        m_diagram->setAccessibleName(text(shown.picture.title));
        m_slider->setMaximum(std::max(1, static_cast<int>(m_all.size())));
        showEdges();
        markHead();
    }

    void markHead() override { m_diagram->setCurrent(workspace()->head()); }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        if (m_diagram->edges().empty())
            return {};
        return {{m_diagram, QString()}};
    }

private:
    void collect(const ResultArray& array)
    {
        const ArrayPart all = wholeArray(array);
        const auto heads = static_cast<std::size_t>(workspace()->card().nHeads);
        const std::size_t count = array.shape[0] * heads;
        const auto headOf = [heads](std::size_t index) {
            return HeadId{static_cast<int>(index / heads), static_cast<int>(index % heads)};
        };
        for (std::size_t from = 0; from < count; ++from)
            for (std::size_t to = 0; to < count; ++to) {
                const double value = all.at(from * count + to);
                if (std::isfinite(value) && value != 0 && headOf(from).layer < headOf(to).layer)
                    m_all.push_back({headOf(from), headOf(to), value});
            }
    }

    void showEdges()
    {
        const auto shown = std::min(m_all.size(), static_cast<std::size_t>(m_slider->value()));
        m_diagram->setEdges({m_all.begin(), m_all.begin() + static_cast<std::ptrdiff_t>(shown)});
        m_howMany->setText(shown == 0
                               ? QString()
                               : tr("%1 largest, down to %2").arg(shown).arg(number(m_all[shown - 1].value)));
    }

    DiagramView* m_diagram;
    QSlider* m_slider;
    QLabel* m_howMany;
    PictureData m_data;
    std::vector<DiagramEdge> m_all; // the strongest first
};

} // namespace

PictureBody* newTableBody(Workspace* workspace, QWidget* parent)
{
    return new TableBody(workspace, parent);
}

PictureBody* newDiagramBody(Workspace* workspace, QWidget* parent)
{
    return new DiagramBody(workspace, parent);
}

} // namespace headwise::ui
