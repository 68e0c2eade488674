#include "ui/pages/analyses/analysis_list.h"

#include "core/runs/plan.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/base/window_words.h"
#include "ui/document/array_part.h"
#include "ui/document/questions.h"

#include <QEvent>
#include <QHash>
#include <QHeaderView>
#include <QLineEdit>
#include <QShortcut>
#include <QStyledItemDelegate>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr int idRole = Qt::UserRole;

const Analysis* analysisOf(const QTreeWidgetItem* item)
{
    return item ? findAnalysis(item->data(0, idRole).toString().toStdString()) : nullptr;
}

std::vector<QTreeWidgetItem*> leaves(const QTreeWidget* tree)
{
    std::vector<QTreeWidgetItem*> all;
    for (int i = 0; i < tree->topLevelItemCount(); ++i)
        for (int k = 0; k < tree->topLevelItem(i)->childCount(); ++k)
            all.push_back(tree->topLevelItem(i)->child(k));
    return all;
}

/// Draws names on as many lines as they need; a tree measures its rows without knowing their width.
class WrappedNames : public QStyledItemDelegate {
public:
    explicit WrappedNames(QTreeWidget* tree)
        : QStyledItemDelegate(tree)
        , m_tree(tree)
    {
    }

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const int depth = index.parent().isValid() ? 2 : 1;
        const int width = std::max(m_tree->columnWidth(0) - depth * m_tree->indentation(), 40);
        int& height = m_heights[{index.data().toString(), width}]; // asked again at every layout of the tree
        if (height == 0) {
            QStyleOptionViewItem row = option;
            row.rect = QRect(0, 0, width, QWIDGETSIZE_MAX); // the style breaks lines as it does when it draws
            height = QStyledItemDelegate::sizeHint(row, index).height();
        }
        return {width, height + 6};
    }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override
    {
        QStyledItemDelegate::initStyleOption(option, index);
        option->features |= QStyleOptionViewItem::WrapText;
    }

private:
    const QTreeWidget* m_tree;
    mutable QHash<std::pair<QString, int>, int> m_heights; // height of a name at a width
};

} // namespace

QString explainedNumber(const Analysis& analysis)
{
    return analysis.number.empty() ? QString()
                                   : AnalysisList::tr("%1 in the catalogue").arg(text(analysis.number));
}

bool areAboutOthers(const Analysis& analysis, const AnalysisInputs& with, const AnalysisInputs& now,
                    bool hasAllTokens)
{
    const InputNeeds& needs = analysis.needs;
    const OptionalInputs& uses = analysis.uses;
    return (analysis.usesPrompt() && with.prompt != now.prompt)
        || (uses.positions
            && (with.queryPosition != now.queryPosition || with.keyPosition != now.keyPosition))
        || (analysis.usesToken() && !hasAllTokens
            && (with.token != now.token || with.keyToken != now.keyToken))
        || (uses.cycle && with.cycle != now.cycle) || (needs.pair && with.pair != now.pair)
        || (needs.direction && with.direction != now.direction)
        || (uses.previousTokenHeads && with.previousTokenHeads != now.previousTokenHeads)
        || (uses.relations && with.relations != now.relations) || (uses.names && with.names != now.names)
        || (uses.tokenCounts && with.tokenCounts != now.tokenCounts)
        || (uses.bigramCounts && with.bigramCounts != now.bigramCounts) || with.seed != now.seed
        || (analysis.followsMetric && with.metric != now.metric);
}

QString whyNotNow(const Analysis& analysis, const Workspace& workspace)
{
    if (!workspace.model()->isOpen())
        return AnalysisList::tr("Nothing is open.");
    if (!workspace.model()->hasModel())
        return AnalysisList::tr("It needs the model's files; use File → Locate model…");
    AnalysisOptions options = workspace.runs()->analysisOptions(analysis);
    const AnalysisInputs& inputs = options.inputs;
    const ModelConfig& config = workspace.model()->circuits()->config();
    if (const std::string never = whyNotOf(analysis, config, options); !never.empty())
        return windowWords(text(never));
    if (analysis.needs.tokenizer && !inputs.tokenizer)
        return AnalysisList::tr("It needs the model's tokenizer; use File → Add tokenizer…");
    if (analysis.needs.prompt && inputs.prompt.empty())
        return AnalysisList::tr("It needs a prompt: type one below.");
    if (analysis.needs.pair && !inputs.pair)
        return AnalysisList::tr(
            "It needs two heads in different layers: the selected one and a reference. Shift+click in the grid of heads marks the reference.");
    if (analysis.needs.direction && inputs.direction.empty())
        return AnalysisList::tr("It needs a direction: give its tokens below.");
    return windowWords(text(whyLeftOut(analysis, config, options)));
}

AnalysisList::AnalysisList(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_search(new QLineEdit(this))
    , m_tree(new QTreeWidget(this))
{
    m_search->setPlaceholderText(tr("Find an analysis"));
    m_search->setAccessibleName(m_search->placeholderText());
    m_search->setClearButtonEnabled(true);
    m_search->setTextMargins(4, 0, 4, 0);
    m_tree->setAccessibleName(tr("Analyses"));
    setMinimumWidth(172); // px: names need few lines, and pictures have room at 1,024 px
    m_tree->setColumnCount(2);
    m_tree->setHeaderHidden(true);
    m_tree->setIndentation(12);
    m_tree->setItemDelegateForColumn(0, new WrappedNames(m_tree));
    connect(m_tree->header(), &QHeaderView::sectionResized, this, [this](int column) {
        if (column == 0)
            QMetaObject::invokeMethod(
                m_tree,
                [this] {
                    m_tree->doItemsLayout();
                    m_tree->scrollToItem(m_tree->currentItem()); // selected before the rows had their heights
                },
                Qt::QueuedConnection);
    });
    m_tree->header()->setStretchLastSection(false);
    m_tree->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_tree->header()->setSectionResizeMode(1, QHeaderView::Fixed);
    m_tree->header()->resizeSection(1, 28);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_search);
    layout->addWidget(m_tree, 1);
    fill();
    connect(m_search, &QLineEdit::textChanged, this, &AnalysisList::filter);
    const auto chooseFirst = [this](QTreeWidgetItem* stays) {
        const std::vector<QTreeWidgetItem*> all = leaves(m_tree);
        const auto first =
            std::ranges::find_if(all, [](const QTreeWidgetItem* item) { return !item->isHidden(); });
        if (first != all.end() && (!stays || stays->isHidden()))
            m_tree->setCurrentItem(*first);
    };
    connect(m_search, &QLineEdit::returnPressed, this, [chooseFirst] { chooseFirst(nullptr); });
    auto* down = new QShortcut(QKeySequence(Qt::Key_Down), m_search);
    down->setContext(Qt::WidgetShortcut);
    connect(down, &QShortcut::activated, this, [this, chooseFirst] {
        m_tree->setFocus(Qt::TabFocusReason);
        chooseFirst(m_tree->currentItem());
    });
    connect(m_tree, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
        if (const Analysis* analysis = analysisOf(item))
            emit chosen(analysis);
    });
    // A group also becomes the current row when the focus comes or goes, which chooses nothing.
    for (const auto signal : {&QTreeWidget::itemClicked, &QTreeWidget::itemActivated})
        connect(m_tree, signal, this, [this](const QTreeWidgetItem* item) {
            if (!analysisOf(item))
                emit questionChosen(item->text(0));
        });
}

void AnalysisList::fill()
{
    for (const auto& [title, rows] : analysesByQuestion()) {
        auto* group = new QTreeWidgetItem(m_tree, {title});
        group->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
        group->setToolTip(0, tr("All analyses of this question, as panels"));
        group->setFirstColumnSpanned(true);
        QFont bold = group->font(0);
        bold.setWeight(QFont::DemiBold);
        group->setFont(0, bold);
        for (const Analysis* analysis : rows) {
            auto* item = new QTreeWidgetItem(group, {text(analysis->title)});
            item->setData(0, idRole, text(analysis->id));
            item->setTextAlignment(1, Qt::AlignCenter);
        }
        group->setExpanded(true);
    }
}

void AnalysisList::updateMarks()
{
    const ThemeColors& colors = themeColors(palette());
    for (QTreeWidgetItem* item : leaves(m_tree)) {
        const Analysis* analysis = analysisOf(item);
        const bool computed =
            m_workspace->model()->isOpen() && isComputed(*analysis, *m_workspace->model()->results());
        const QString why = whyNotNow(*analysis, *m_workspace);
        const QString state = computed ? tr("computed") : why.isEmpty() ? tr("can be computed") : why;
        item->setText(1,
                      computed            ? QStringLiteral("●")
                          : why.isEmpty() ? QStringLiteral("○")
                                          : QStringLiteral("–"));
        const QColor color = computed ? colors.good : why.isEmpty() ? colors.accent : colors.muted;
        item->setForeground(1, color);
        item->setForeground(0, computed || why.isEmpty() ? colors.text : colors.muted);
        const QString name = item->text(0);
        QStringList tip{name, explainedNumber(*analysis), state};
        tip.removeAll(QString());
        for (const int column : {0, 1})
            item->setToolTip(column, tip.join(u'\n'));
        item->setData(0, Qt::AccessibleTextRole, QStringLiteral("%1, %2").arg(name, state));
    }
}

void AnalysisList::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        updateMarks(); // The rows keep their colours.
}

void AnalysisList::select(const Analysis& analysis)
{
    const QSignalBlocker quiet(m_tree);
    for (QTreeWidgetItem* item : leaves(m_tree))
        if (analysisOf(item) == &analysis) {
            if (item->isHidden())
                m_search->clear(); // selected from elsewhere: it must be in the list
            m_tree->setCurrentItem(item);
        }
}

void AnalysisList::selectQuestion(const QString& title)
{
    const QSignalBlocker quiet(m_tree);
    for (int i = 0; i < m_tree->topLevelItemCount(); ++i)
        if (QTreeWidgetItem* group = m_tree->topLevelItem(i); group->text(0) == title) {
            m_search->clear();
            m_tree->setCurrentItem(group);
        }
}

void AnalysisList::filter(const QString& words)
{
    for (int i = 0; i < m_tree->topLevelItemCount(); ++i) {
        QTreeWidgetItem* group = m_tree->topLevelItem(i);
        bool any = false;
        for (int k = 0; k < group->childCount(); ++k) {
            const Analysis* analysis = analysisOf(group->child(k));
            bool fits = false;
            for (const std::string_view part :
                 {analysis->number, analysis->title, analysis->id, analysis->formula, analysis->citation})
                fits = fits || text(part).contains(words, Qt::CaseInsensitive);
            group->child(k)->setHidden(!fits);
            any = any || fits;
        }
        group->setHidden(!any);
    }
}

} // namespace headwise::ui
