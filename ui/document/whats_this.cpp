#include "ui/document/whats_this.h"

#include "ui/base/text.h"
#include "ui/document/array_part.h"

#include <QHeaderView>
#include <QHelpEvent>
#include <QTableView>
#include <QWhatsThis>

#include <algorithm>
#include <array>
#include <string_view>

namespace headwise::ui {

namespace {

QString bold(const QString& words)
{
    return QStringLiteral("<p><b>%1</b></p>").arg(words.toHtmlEscaped());
}

QString plain(const QString& words)
{
    return words.isEmpty() ? QString() : QStringLiteral("<p>%1</p>").arg(words.toHtmlEscaped());
}

QString sourceOf(const Analysis& analysis)
{
    return QStringLiteral("<p>%1<br><i>%2</i></p>")
        .arg(text(analysis.formula).toHtmlEscaped(), text(analysis.citation).toHtmlEscaped());
}

/// "scores/copying", "analyses/rotary/energy" and "spectra/ov/singular_values" name theirs.
const Analysis* analysisOf(const ResultArray& array)
{
    const QStringList parts = text(array.path).split(u'/');
    for (qsizetype i = std::min<qsizetype>(1, parts.size() - 1); i >= 0; --i)
        if (const Analysis* found = findAnalysis(parts[i].toStdString()))
            return found;
    const auto all = catalogue();
    const auto found =
        std::ranges::find_if(all, [&](const Analysis& analysis) { return belongsTo(array, analysis); });
    return found == all.end() ? nullptr : &*found;
}

struct PageWords {
    QLatin1StringView name;
    const char* sentence; ///< Says what it shows and how to read it, in at most 20 words.
    const char* answers;
    std::array<std::string_view, 6> analyses = {}; ///< By which it answers; the rest are empty.
};

constexpr std::array pageWords{
    PageWords{QLatin1StringView("heads"),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "Each cell is one head, coloured by the chosen score; click a cell to select its head."),
              QT_TRANSLATE_NOOP("WhatsThis", "Every head of the model, coloured and ranked by one score."),
              {"copying", "matching", "previous_token"}},
    PageWords{
        QLatin1StringView("findings"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "Statements that stand out from random weights, strongest first, each with its evidence."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "Statements that the analyses support, strongest first. Each gives its score, the mean for random weights and z. A click opens its picture."),
        {"previous_token", "copying", "matching", "induction"}},
    PageWords{
        QLatin1StringView("overview"),
        QT_TRANSLATE_NOOP("WhatsThis",
                          "The selected head at a glance; click a panel's heading to open its page."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The selected head at a glance: tokens it reads and writes, salient tokens, spectra, eigenvalues, positions and composition."),
        {"tables", "salient_tokens", "spectra", "eigenvalues", "position_kernel", "composition"}},
    PageWords{QLatin1StringView("all_heads"),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "Every head as a row with all its scores; click a column's title to rank the heads by it."),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "Every head as a row with all its computed scores, and a scatter plot of any two scores."),
              {"copying", "matching", "spectra"}},
    PageWords{
        QLatin1StringView("tokens"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The tokens that the head writes when it attends to one token, or attends to from it."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The strongest entries of one token's row or column of a full circuit: outputs when attending to it, or keys it attends to."),
        {"tables", "token_card"}},
    PageWords{QLatin1StringView("matrix"),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "One circuit of the head as a matrix; colour shows the sign and size of each entry."),
              QT_TRANSLATE_NOOP("WhatsThis",
                                "A circuit of the selected head as a matrix: QK, OV, full QK or full OV."),
              {"largest_entries", "spectra"}},
    PageWords{QLatin1StringView("spectrum"),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "Many large singular values: many directions in use. Positive eigenvalues: copying."),
              QT_TRANSLATE_NOOP("WhatsThis",
                                "Singular values and eigenvalues of the circuits of the selected head."),
              {"spectra", "eigenvalues", "degeneracy"}},
    PageWords{QLatin1StringView("vectors"),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "Each singular direction of the head, shown as the tokens it reads and writes most."),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "The singular directions of the selected head, as the tokens they read from and write to."),
              {"singular_tokens", "direction_search"}},
    PageWords{
        QLatin1StringView("position"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The score by distance: a peak is an offset that the head prefers regardless of the tokens."),
        QT_TRANSLATE_NOOP("WhatsThis",
                          "How the selected head's score depends on the query and key positions."),
        {"position_kernel", "positional_circuit", "rotary"}},
    PageWords{
        QLatin1StringView("scores"),
        QT_TRANSLATE_NOOP("WhatsThis",
                          "The head's attention scores, split into the terms of tokens and positions."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The terms that make up the attention scores of the selected head: tokens and positions in layer 0, or rotary frequencies."),
        {"six_terms", "token_prior", "detokenization"}},
    PageWords{
        QLatin1StringView("composition"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "Each cell is a pair of heads; a high value means the later head reads what the earlier one writes."),
        QT_TRANSLATE_NOOP("WhatsThis", "How strongly each later head reads the output of each earlier head."),
        {"composition", "composition_nulls"}},
    PageWords{
        QLatin1StringView("compare"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The selected head beside the reference head: the same pictures for both, and their difference."),
        QT_TRANSLATE_NOOP("WhatsThis",
                          "The selected head beside the reference: circuits, tables, spectra and angles."),
        {"similarity", "projection_kernel"}},
    PageWords{
        QLatin1StringView("prompt"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The model on a prompt: where each head attends, and its effect on the next token's logit."),
        QT_TRANSLATE_NOOP("WhatsThis",
                          "The model on a prompt: every head's attention and its effect on a logit."),
        {"attention", "logit_attribution"}},
    PageWords{QLatin1StringView("relations"),
              QT_TRANSLATE_NOOP(
                  "WhatsThis",
                  "Heads that turn the first word of a pair into the second, ranked by how often they hit."),
              QT_TRANSLATE_NOOP("WhatsThis", "Heads that turn the first word of a pair into the second."),
              {"relations"}},
    PageWords{
        QLatin1StringView("models"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "How much each head differs between two models, relative to its norm; 0 means no change."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "Changes in every head of a newer model: the relative change of its circuits, ‖ΔW‖_F / ‖W‖_F, and the tokens that entered its tables."),
        {"tables"}},
    PageWords{
        QLatin1StringView("training"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "One score of every head, or singular values, over training; points mark changes of heads."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "A series of checkpoints: every score over the steps of training, the singular values of every head, the singular vectors of a head followed by their overlap, and the change points of the heads with their evidence. File → Open series folder… or `headwise series` makes one from a folder of checkpoints."),
        {"previous_token", "copying", "matching"}},
    PageWords{
        QLatin1StringView("tensors"),
        QT_TRANSLATE_NOOP("WhatsThis",
                          "Every tensor as stored in the file, with its range, histogram and entries."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "Every tensor of the file as stored: minimum, maximum, mean and standard deviation of its finite numbers (divisor: the count), a histogram of 64 equal bins, and its entries.")},
    PageWords{
        QLatin1StringView("folding"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "One token's row with the weights in use and with other processing steps, side by side."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The effect of each processing step: the selected token's row with the weights in use, and with the ticked steps."),
        {"folding"}},
    PageWords{
        QLatin1StringView("model"),
        QT_TRANSLATE_NOOP("WhatsThis",
                          "The model's sizes and parts, the loading report and the processing steps."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "The model card: sizes, kinds of parts, the loading report, and the effects of processing."),
        {"folding"}},
    PageWords{
        QLatin1StringView("analyses"),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "Every analysis of the catalogue: choose one, run it, and compare its numbers with their nulls."),
        QT_TRANSLATE_NOOP(
            "WhatsThis",
            "Every analysis of the catalogue, with its formula and its source; each picture says what it shows.")}};

/// Answers for the headers of a table, whose models know titles only.
class HeaderWords : public QObject {
public:
    explicit HeaderWords(QHeaderView* header)
        : QObject(header)
        , m_header(header)
    {
        header->viewport()->installEventFilter(this);
    }

    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() != QEvent::WhatsThis && event->type() != QEvent::QueryWhatsThis)
            return QObject::eventFilter(watched, event);
        auto* help = static_cast<QHelpEvent*>(event);
        const QString words = wordsAt(help->pos());
        if (words.isEmpty())
            return false;
        if (event->type() == QEvent::WhatsThis)
            QWhatsThis::showText(help->globalPos(), words, m_header);
        event->accept();
        return true;
    }

private:
    QString wordsAt(const QPoint& position) const
    {
        const int column = m_header->logicalIndexAt(position);
        const QAbstractItemModel* model = m_header->model();
        if (column < 0 || !model)
            return {};
        const auto of = [&](int role) { return model->headerData(column, Qt::Horizontal, role).toString(); };
        const QString title = of(Qt::DisplayRole), tip = of(Qt::ToolTipRole), own = of(Qt::WhatsThisRole);
        if (!own.isEmpty())
            return own;
        return bold(title) + (tip == title ? QString() : plain(tip)) + explanationAround(m_header);
    }

    QHeaderView* m_header;
};

} // namespace

QString explanationOf(const Analysis& analysis)
{
    return bold(QStringLiteral("%1 (%2)").arg(text(analysis.title), text(analysis.number)))
        + sourceOf(analysis);
}

QString explanationOf(const ResultArray& array)
{
    QString words =
        bold(text(array.title.empty() ? array.path : array.title)) + plain(text(array.definition));
    if (!array.unit.empty())
        words += plain(tr("in %1").arg(text(array.unit)));
    if (const QString null = nullText({&array}); !null.isEmpty())
        words += plain(null);
    const Analysis* analysis = analysisOf(array);
    return analysis ? words + sourceOf(*analysis) : words;
}

QString explanationOfPage(const QString& name)
{
    const auto found = std::ranges::find(pageWords, name, &PageWords::name);
    if (found == pageWords.end())
        return {};
    QString words = plain(tr(found->answers));
    for (const std::string_view id : found->analyses)
        if (const Analysis* analysis = findAnalysis(id))
            words += explanationOf(*analysis);
    return words;
}

QString sentenceOfPage(const QString& name)
{
    const auto found = std::ranges::find(pageWords, name, &PageWords::name);
    return found == pageWords.end() ? QString() : tr(found->sentence);
}

void explainHeader(QTableView* table)
{
    new HeaderWords(table->horizontalHeader());
}

QString explanationAround(const QWidget* widget)
{
    for (; widget; widget = widget->parentWidget())
        if (!widget->whatsThis().isEmpty())
            return widget->whatsThis();
    return {};
}

} // namespace headwise::ui
