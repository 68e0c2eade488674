#include "ui/pages/parts/saved_screen.h"

#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/page.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QLabel>
#include <QScrollArea>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr int savedHeatmapHeight = 320; // px
constexpr int savedRowHeight = 24, savedHeaderHeight = 40;

/// Returns text of the file with its controls made visible.
QString shownText(const std::string& words)
{
    return text(shownSpecialToken(words));
}

QStringList shownTexts(const std::vector<std::string>& all)
{
    QStringList shown;
    for (const std::string& words : all)
        shown << shownText(words);
    return shown;
}

QLabel* plainLabel(const QString& words, QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setText(words);
    return label;
}

/// Tells whether a column holds ids, ranks and the like.
bool isOfCounts(const ScreenPicture& picture, std::size_t column)
{
    for (std::size_t row = 0; row < picture.rows(); ++row) {
        const double value = picture.values[row * picture.columns() + column];
        if (std::isfinite(value) && (value != std::floor(value) || std::abs(value) > 1e9))
            return false;
    }
    return true;
}

QStandardItem* savedCell(const ScreenPicture& picture, std::size_t at, bool isCount)
{
    const double value = picture.values[at];
    if (std::isnan(value))
        return wordCell(picture.words.empty() ? QString() : shownText(picture.words[at]));
    QStandardItem* cell = numberCell(value);
    if (isCount && std::isfinite(value))
        cell->setText(QString::number(static_cast<qint64>(value))); // an id or a rank has all its digits
    return cell;
}

HeatmapPanel* savedHeatmap(const ScreenPicture& picture, QWidget* parent)
{
    auto* panel = new HeatmapPanel(parent);
    panel->setMinimumHeight(savedHeatmapHeight);
    HeatmapView* view = panel->view();
    ColorScale scale;
    scale.fit = ColorFit::Robust;
    view->colors()->setScale(scale);
    view->content()->setRowAxis(labelledAxis(shownText(picture.rowAxis), shownTexts(picture.rowNames)));
    view->content()->setColumnAxis(
        labelledAxis(shownText(picture.columnAxis), shownTexts(picture.columnNames)));
    const auto rows = static_cast<Eigen::Index>(picture.rows());
    const auto columns = static_cast<Eigen::Index>(picture.columns());
    auto matrix = std::make_shared<Eigen::MatrixXf>(rows, columns);
    for (Eigen::Index row = 0; row < rows; ++row)
        for (Eigen::Index column = 0; column < columns; ++column)
            (*matrix)(row, column) =
                static_cast<float>(picture.values[static_cast<std::size_t>(row * columns + column)]);
    view->setMatrix(std::move(matrix));
    return panel;
}

TableFigure* savedTable(const ScreenPicture& picture, QWidget* parent)
{
    auto* table = new TableFigure(parent);
    auto* model = new QStandardItemModel(table);
    std::vector<bool> isCount;
    for (std::size_t column = 0; column < picture.columns(); ++column)
        isCount.push_back(isOfCounts(picture, column));
    for (std::size_t row = 0; row < picture.rows(); ++row) {
        QList<QStandardItem*> cells;
        for (std::size_t column = 0; column < picture.columns(); ++column)
            cells << savedCell(picture, row * picture.columns() + column, isCount[column]);
        model->appendRow(cells);
    }
    model->setHorizontalHeaderLabels(shownTexts(picture.columnNames));
    table->setSource(model, TokenTableModel::SortRole);
    table->setFixedHeight(std::clamp(model->rowCount() * savedRowHeight + savedHeaderHeight,
                                     savedRowHeight + savedHeaderHeight, savedHeatmapHeight));
    return table;
}

} // namespace

SavedScreen::SavedScreen(const Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_scroll(new QScrollArea(this))
{
    QLabel* note = plainLabel(tr("As saved; locate the model to change it."), this);
    makeSecondary(note);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setFocusPolicy(Qt::NoFocus); // its views have it
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 4, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(note);
    layout->addWidget(m_scroll, 1);
    hide();
}

bool SavedScreen::has(const QString& page) const
{
    const OpenModel* model = m_workspace->model();
    const auto session = model->session();
    return session && !model->hasModel()
        && std::ranges::any_of(session->screen, [name = page.toStdString()](const ScreenPicture& picture) {
               return picture.page == name;
           });
}

void SavedScreen::showFor(const QString& name, Page* page)
{
    std::vector<std::size_t> wanted;
    const auto session = has(name) ? m_workspace->model()->session() : nullptr;
    if (session) {
        QStringList own;
        for (const FigureSource* figure : page->figures())
            own << figure->figureTitle();
        const std::string head = dottedHead(m_workspace->selection()->head());
        for (std::size_t i = 0; i < session->screen.size(); ++i) {
            const ScreenPicture& picture = session->screen[i];
            const bool isOfHead = picture.head.empty() || picture.head == head;
            if (picture.page == name.toStdString() && isOfHead && !own.contains(text(picture.title)))
                wanted.push_back(i);
        }
    }
    if (m_session == session && m_shown == wanted)
        return;
    m_session = session;
    m_shown = std::move(wanted);
    showPictures();
}

QWidget* SavedScreen::createView(const ScreenPicture& picture, QWidget* parent)
{
    QWidget* view = nullptr; // the part that can be exported
    QWidget* whole = nullptr;
    if (picture.isMatrix) {
        HeatmapPanel* panel = savedHeatmap(picture, parent);
        view = panel->view();
        whole = panel;
    } else
        whole = view = savedTable(picture, parent);
    view->setAccessibleName(shownText(picture.title));
    auto* figure = dynamic_cast<FigureSource*>(view);
    figure->setFigureTitle(shownText(picture.title));
    figure->setProvenance(m_workspace->provenance());
    m_figures << figure;
    emit viewMade(view);
    return whole;
}

void SavedScreen::showPictures()
{
    m_figures.clear();
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    for (const std::size_t i : m_shown) {
        const ScreenPicture& picture = m_session->screen[i];
        QLabel* title = plainLabel(shownText(picture.title), content);
        makeHeading(title);
        layout->addWidget(title);
        if (!picture.note.empty()) {
            QLabel* note = plainLabel(shownText(picture.note), content);
            makeSecondary(note);
            layout->addWidget(note);
        }
        layout->addWidget(createView(picture, content));
    }
    layout->addStretch();
    m_scroll->setWidget(content); // deletes the last one
    setVisible(!m_shown.empty());
}

} // namespace headwise::ui
