#include "ui/pages/compare/models_page.h"

#include "core/analysis/comparison/comparison_pictures.h"
#include "core/analysis/comparison/model_comparison.h"
#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/document/compared_model.h"
#include "ui/document/estimate.h"
#include "ui/document/head_metrics.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/compare/adapter_strength.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/invitation.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

namespace headwise::ui {

namespace {

const std::string modelsPageFolder = "comparison/";
const std::string bestMatch = modelsPageFolder + "match/best";

bool hasComparison(const ResultSet& results)
{
    return results.find(bestMatch) || results.find(modelsPageFolder + "ov/relative_change");
}

/// Returns the names of the older and the newer model; if they are equal, with their folders.
std::pair<QString, QString> namesOf(const Workspace& workspace)
{
    const QString older = text(workspace.model()->card().name),
                  newer = comparedWith(*workspace.model()->results());
    const auto& groups = workspace.model()->results()->groupAttributes;
    const auto group = groups.find("comparison");
    if (older != newer || group == groups.end())
        return {older, newer};
    const auto source = group->second.find("model_b_source");
    const auto* path = source == group->second.end() ? nullptr : std::get_if<std::string>(&source->second);
    const std::filesystem::path a(workspace.model()->card().source), b(path ? *path : std::string());
    const bool differ = a.filename() != b.filename();
    const auto said = [&](const std::filesystem::path& of) {
        return text((differ ? of.filename() : of).string());
    };
    return path ? std::pair(ModelsPage::tr("%1 in %2").arg(older, said(a)),
                            ModelsPage::tr("%1 in %2").arg(newer, said(b)))
                : std::pair(older, newer);
}

/// Lists the tokens of one list that the other lacks.
QString tokensOnlyIn(const ArrayPart& list, const ArrayPart& other, const Workspace& workspace)
{
    QStringList words;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const int token = static_cast<int>(list.at(i));
        bool isShared = token < 0;
        for (std::size_t j = 0; j < other.size() && !isShared; ++j)
            isShared = static_cast<int>(other.at(j)) == token;
        if (!isShared)
            words << workspace.model()->tokenText(token);
    }
    return words.join(QStringLiteral("  "));
}

} // namespace

ModelsPage::ModelsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_state(new QLabel(this))
    , m_choose(new QPushButton(tr("Compare with…"), this))
    , m_chooseFile(new QPushButton(tr("Compare with a file…"), this))
    , m_circuits(new QPushButton(this))
    , m_scroll(new QScrollArea(this))
    , m_pictures(new QWidget(m_scroll))
    , m_headsTitle(new QLabel(m_pictures))
    , m_headModel(new QStandardItemModel(this))
    , m_heads(new TableFigure(m_pictures))
    , m_tokensTitle(new QLabel(m_pictures))
    , m_tokenModel(new QStandardItemModel(this))
    , m_tokens(new TableFigure(m_pictures))
{
    createLayout();
    connectSignals();
}

void ModelsPage::createLayout()
{
    m_state->setWordWrap(true);
    m_circuits->setToolTip(tr("The selected head in both models, side by side with one scale and zoom"));
    m_choose->setToolTip(tr(
        "Choose a newer model of the same architecture, or any other to match heads by the tokens they write. Alt+drop on the window does the same"));
    auto* controls = new QWidget(this);
    auto* buttons = new QHBoxLayout(controls);
    buttons->setContentsMargins(0, 0, 0, 0);
    buttons->setSpacing(8);
    buttons->addWidget(new AdapterStrength(workspace(), controls));
    buttons->addWidget(new JobBar(ComparedModel::of(workspace())->comparisonJob(), this));
    for (QPushButton* button : {m_circuits, m_choose, m_chooseFile})
        buttons->addWidget(button);
    m_top = new QHBoxLayout;
    m_top->setSpacing(8);
    m_top->addWidget(m_state, 1);
    m_top->addWidget(controls);
    auto* column = new QVBoxLayout(m_pictures);
    column->setContentsMargins(0, 0, 8, 0);
    column->setSpacing(8);
    for (const auto& [title, table, model, name] :
         {std::tuple(m_headsTitle, m_heads, m_headModel, tr("Heads by change")),
          std::tuple(m_tokensTitle, m_tokens, m_tokenModel, tr("Tokens that left and entered"))}) {
        table->setSource(model, TokenTableModel::SortRole);
        table->setAccessibleName(name);
        table->setFixedHeight(220);
        column->addWidget(title);
        column->addWidget(table);
    }
    column->addStretch();
    m_scroll->setWidget(m_pictures);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(m_top);
    layout->addWidget(m_scroll, 1);
}

void ModelsPage::connectSignals()
{
    connect(m_circuits, &QPushButton::clicked, this, [this] {
        ComparedModel::of(workspace())->setReference(true);
        emit pageRequested(QStringLiteral("compare"));
    });
    connect(m_choose, &QPushButton::clicked, this, &ModelsPage::modelWanted);
    connect(m_chooseFile, &QPushButton::clicked, this, &ModelsPage::modelFileWanted);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::resultsChanged})
        connect(workspace()->model(), signal, this, &ModelsPage::refresh);
    connect(workspace()->selection(), &Selection::headChanged, this, &ModelsPage::followHead);
    connect(workspace()->selection(), &Selection::referenceChanged, this, &ModelsPage::followHead);
    connect(m_heads, &TableFigure::rowChosen, this, [this](int row) {
        workspace()->selection()->setHead(m_headOfRow[static_cast<std::size_t>(row)]);
    });
    connect(m_tokens, &TableFigure::rowChosen, this,
            [this](int row) { workspace()->selection()->setToken(tokenOf(*m_tokenModel, row, 0)); });
    connect(m_scroll->verticalScrollBar(), &QScrollBar::valueChanged, this, &ModelsPage::drawVisible);
    connect(m_scroll->verticalScrollBar(), &QScrollBar::rangeChanged, this, &ModelsPage::drawVisible);
}

QString ModelsPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel() && !hasComparison(*model.results())
        ? tr("Comparing two models needs the model's files; use File → Locate model…")
        : QString();
}

void ModelsPage::recompute()
{
    const bool isThere = workspace()->model()->isOpen() && hasComparison(*workspace()->model()->results());
    const QString never = whyNot(*workspace());
    for (QPushButton* button : {m_choose, m_chooseFile}) {
        button->setEnabled(workspace()->model()->hasModel());
        button->setVisible(never.isEmpty());
    }
    m_circuits->setVisible(isThere);
    m_circuits->setText(tr("Circuits of %1 in both").arg(text(workspace()->selection()->head())));
    m_scroll->setVisible(isThere);
    arrangeInvitation(m_top, m_state, !isThere);
    arrangeTop();
    if (!isThere) {
        m_headModel->clear();
        m_tokenModel->clear();
        if (!never.isEmpty())
            return setPlain(m_state, never);
        QString question = tr(
            "What did training change? Choose a newer model of the same architecture, or drop it on the window while holding Alt. A LoRA adapter of this model needs no key. Heads of any other model are matched by the tokens they write.");
        if (workspace()->model()->hasModel())
            if (const QString estimate =
                    estimateText(comparisonCost(workspace()->model()->circuits()->config()));
                !estimate.isEmpty())
                question += tr(" It takes %1.").arg(estimate);
        return setPlain(m_state, question);
    }
    const auto [older, newer] = namesOf(*workspace());
    setMarkup(m_state,
              (isMatched() ? tr("Heads of <b>%1</b> and of <b>%2</b>, matched by the tokens they write")
                           : tr("From <b>%1</b> to <b>%2</b>; both with the same processing"))
                  .arg(older.toHtmlEscaped(), newer.toHtmlEscaped()));
    if (isMatched())
        showMatches();
    else
        showHeads();
    showTokens();
    makeCards();
    for (PictureCard* card : m_cards)
        card->markStale();
    QTimer::singleShot(0, this, &ModelsPage::drawVisible);
}

void ModelsPage::arrangeTop()
{
    constexpr int sentence = 300; // px, below which the buttons would leave it a few words a line
    if (m_scroll->isHidden())
        return;
    const int buttons = m_top->itemAt(1)->sizeHint().width();
    m_top->setDirection(width() - buttons < sentence ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void ModelsPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    arrangeTop();
}

bool ModelsPage::isMatched() const
{
    return workspace()->model()->results()->find(bestMatch) != nullptr;
}

void ModelsPage::showMatches()
{
    const ResultSet& results = *workspace()->model()->results();
    const ResultArray* best = results.find(modelsPageFolder + "match/best");
    const ResultArray* heads = results.find(modelsPageFolder + "match/best_head");
    const ResultArray* cka = results.find(modelsPageFolder + "match/cka");
    m_headModel->clear();
    m_headOfRow.clear();
    setMarkup(m_headsTitle, tr("<b>Heads by their best match in the other model</b>"));
    if (!heads || !cka || cka->shape.size() != 4)
        return;
    m_headModel->setHorizontalHeaderLabels(
        {tr("Head"), tr("Best match"), tr("Outputs shared"), tr("z"), tr("CKA")});
    const ModelCard& card = workspace()->model()->card();
    for (int layer = 0; layer < card.nLayers; ++layer)
        for (int head = 0; head < card.nHeads; ++head)
            if (std::isfinite(metricAt(*best, {layer, head})))
                m_headOfRow.push_back({layer, head});
    std::stable_sort(m_headOfRow.begin(), m_headOfRow.end(),
                     [&](HeadId a, HeadId b) { return metricAt(*best, a) > metricAt(*best, b); });
    for (const HeadId head : m_headOfRow) {
        const auto place = static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(card.nHeads)
            + static_cast<std::size_t>(head.head);
        const HeadId other{static_cast<int>(wholeArray(*heads).at(2 * place)),
                           static_cast<int>(wholeArray(*heads).at(2 * place + 1))};
        const std::size_t pair =
            (place * cka->shape[2] + static_cast<std::size_t>(other.layer)) * cka->shape[3]
            + static_cast<std::size_t>(other.head);
        const double value = metricAt(*best, head);
        m_headModel->appendRow({wordCell(text(head)), wordCell(text(other)), numberCell(value),
                                numberCell(zScore(*best, value)), numberCell(wholeArray(*cka).at(pair))});
    }
    fitColumns(m_heads);
}

void ModelsPage::showHeads()
{
    const ResultSet& results = *workspace()->model()->results();
    struct Column {
        const char* path;
        QString title;
        bool isShare = false;
    };
    const std::array<Column, 7> columns{{{"ov/relative_change", tr("Change of OV")},
                                         {"qk/relative_change", tr("Change of QK")},
                                         {"ov/cosine", tr("Cosine of OV")},
                                         {"qk/cosine", tr("Cosine of QK")},
                                         {"ov/left_intruders", tr("Intruders read")},
                                         {"ov/right_intruders", tr("Intruders written")},
                                         {"full_ov/table_change", tr("Top tokens that left"), true}}};
    m_headModel->clear();
    m_headOfRow.clear();
    QStringList titles{tr("Head")};
    for (const Column& column : columns)
        titles << column.title;
    m_headModel->setHorizontalHeaderLabels(titles);
    const ModelCard& card = workspace()->model()->card();
    const ResultArray* change = results.find(modelsPageFolder + columns.front().path);
    for (int layer = 0; layer < card.nLayers; ++layer)
        for (int head = 0; head < card.nHeads; ++head)
            m_headOfRow.push_back({layer, head});
    const auto changeOf = [&](HeadId head) {
        const double value = metricAt(*change, head);
        return std::isfinite(value) ? value : -1;
    };
    std::stable_sort(m_headOfRow.begin(), m_headOfRow.end(),
                     [&](HeadId a, HeadId b) { return changeOf(a) > changeOf(b); });
    for (const HeadId head : m_headOfRow) {
        QList<QStandardItem*> row{wordCell(text(head))};
        for (const Column& column : columns) {
            const ResultArray* array = results.find(modelsPageFolder + column.path);
            const double value = array ? metricAt(*array, head) : std::nan("");
            row << (column.isShare ? percentCell(value) : numberCell(value));
        }
        m_headModel->appendRow(row);
    }
    setMarkup(m_headsTitle, tr("<b>Heads by change, largest first</b>"));
    fitColumns(m_heads);
}

void ModelsPage::showTokens()
{
    m_tokenModel->clear();
    const ResultSet& results = *workspace()->model()->results();
    const ResultArray* before = results.find(modelsPageFolder + "full_ov/ids_a");
    const ResultArray* after = results.find(modelsPageFolder + "full_ov/ids_b");
    const ResultArray* sources = results.find(modelsPageFolder + "full_ov/sampled_tokens");
    const bool isThere = before && after && sources;
    m_tokensTitle->setVisible(!isMatched());
    setMarkup(m_tokensTitle,
              isThere ? tr("<b>%1: tokens that left and entered the top of its rows of full OV</b>")
                            .arg(text(workspace()->selection()->head()))
                      : tr("The vocabularies differ, so their tables cannot be compared."));
    m_tokens->setVisible(isThere);
    if (!isThere)
        return;
    m_tokenModel->setHorizontalHeaderLabels({tr("Source"), tr("Left"), tr("Entered")});
    const PictureContext context = pictureContext(*workspace());
    const auto old = cutAtHeads(*before, context);
    const auto now = cutAtHeads(*after, context);
    for (std::size_t i = 0; old && now && i < sources->shape.front(); ++i) {
        const ArrayPart a = entryOf(*old, i), b = entryOf(*now, i);
        m_tokenModel->appendRow({tokenCell(*workspace(), static_cast<int>(wholeArray(*sources).at(i))),
                                 wordCell(tokensOnlyIn(a, b, *workspace())),
                                 wordCell(tokensOnlyIn(b, a, *workspace()))});
    }
    fitColumns(m_tokens);
}

void ModelsPage::makeCards()
{
    if (!m_cards.empty() && m_cardsAreMatches == isMatched())
        return;
    for (PictureCard* card : std::exchange(m_cards, {}))
        card->deleteLater();
    m_cardsAreMatches = isMatched();
    auto* column = static_cast<QVBoxLayout*>(m_pictures->layout());
    for (const Picture& picture : m_cardsAreMatches ? matchPictures() : changePictures()) {
        auto* card = new PictureCard(workspace(), picture, m_pictures);
        connect(card, &PictureCard::readOutChanged, this, &Page::readOutChanged);
        connect(card, &PictureCard::viewMade, this, &ModelsPage::viewMade);
        column->insertWidget(column->count() - 1, card);
        m_choices.give(card);
        m_cards.push_back(card);
    }
}

void ModelsPage::followHead()
{
    for (PictureCard* card : m_cards)
        card->changeHead();
    if (!isVisible() || m_cards.empty())
        return refresh();
    m_circuits->setText(tr("Circuits of %1 in both").arg(text(workspace()->selection()->head())));
    showTokens();
    drawVisible();
}

void ModelsPage::drawVisible()
{
    if (!isVisible() || !m_scroll->isVisible())
        return;
    const QRect seen(-m_pictures->pos(), m_scroll->viewport()->size());
    if (drawCardsIn(seen, m_cards)) // They have their final height now, and others may be visible.
        QTimer::singleShot(0, this, &ModelsPage::drawVisible);
}

QList<FigureSource*> ModelsPage::figures()
{
    QList<FigureSource*> all;
    if (m_headModel->rowCount() == 0)
        return all;
    const QString of =
        tr("%1 and %2")
            .arg(text(workspace()->model()->card().name), comparedWith(*workspace()->model()->results()));
    const auto add = [&](FigureSource* figure, const QString& what, std::optional<HeadId> head = {},
                         const QString& name = {}, const QJsonObject& choices = {}) {
        describe(figure, QStringLiteral("%1, %2").arg(what, of));
        setSubject(figure, head);
        if (!name.isEmpty())
            setView(figure, name, choices);
        all << figure;
    };
    add(m_heads, isMatched() ? tr("Best match of every head") : tr("Change of every head"));
    if (m_tokenModel->rowCount() > 0)
        add(m_tokens, tr("%1 tokens that left and entered").arg(text(workspace()->selection()->head())),
            workspace()->selection()->head());
    for (PictureCard* card : m_cards)
        for (const auto& [view, what] : card->figures())
            add(dynamic_cast<FigureSource*>(view), what, card->headOf(view), card->viewNameOf(view),
                card->choices());
    return all;
}

} // namespace headwise::ui
