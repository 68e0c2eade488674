#include "ui/pages/scores/rotary_terms.h"

#include "core/analysis/position/rotary_kernel.h"
#include "core/circuits/position_scores.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/kernel_panel.h"
#include "ui/pages/parts/offset_box.h"
#include "ui/pages/parts/picture_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise::ui {

namespace {

/// Paths of the scores in the analysis; the mean token's first.
const std::array<std::string, 2> rotaryScorePaths{"analyses/rotary/mean_token_score",
                                                  "analyses/rotary/token_to_mean_score"};
const std::array<std::string, 2> rotaryTermPaths{"scores/mean_token_terms", "scores/token_to_mean_terms"};

} // namespace

/// The kernels of both pairs of vectors; the mean token's first.
struct RotaryTerms::Answer {
    HeadId head;
    int token = 0;
    Rotary rotary;
    bool hasContent = false; // some components do not turn
    double cap = 0;          // soft cap of the scores; 0: none
    std::array<RotaryKernel, 2> kernels;
    std::array<std::vector<double>, 2> scores; // by offset

    static Result<std::shared_ptr<const Answer>> of(const Circuits& circuits, const TokenSide& tokens,
                                                    HeadId head, int token, const Task& task)
    {
        const ModelConfig& config = circuits.config();
        Answer answer{.head = head,
                      .token = token,
                      .rotary = config.rotaryOf(head.layer),
                      .cap = config.attentionSoftCap,
                      .kernels = {},
                      .scores = {}};
        answer.hasContent = answer.rotary.dim < config.dHead;
        const TokenMatrix& E = tokens.embeddingOf(head.layer);
        const auto statistics = E.statistics(task, "tokens");
        if (!statistics)
            return statistics.error();
        const RowVector<double>& mean = (*statistics)->mean;
        const RowVector<double> row = E.vector(token);
        answer.kernels = {rotaryKernel(circuits.weights(), head, mean, mean),
                          rotaryKernel(circuits.weights(), head, row, mean)};
        const RotaryWaves waves(answer.rotary, std::min(config.nCtx, longestKernel));
        for (std::size_t i = 0; i < 2; ++i)
            for (const double score : waves.scores(answer.kernels[i]))
                answer.scores[i].push_back(answer.cap > 0 ? answer.cap * std::tanh(score / answer.cap)
                                                          : score);
        return std::make_shared<const Answer>(std::move(answer));
    }
};

RotaryTerms::RotaryTerms(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_scores(new PicturePanel(workspace, Picture::Kind::Lines, tr("Score by offset"), this))
    , m_terms(new PicturePanel(workspace, Picture::Kind::Bars, tr("Score by frequency"), this))
    , m_words(new QLabel(this))
{
    createLayout();
    markOffset(m_scores, workspace);
    for (PicturePanel* panel : {m_scores, m_terms})
        connect(panel, &Page::readOutChanged, this, &Page::readOutChanged);
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace->model(), signal, this, &RotaryTerms::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &RotaryTerms::refresh);
    connect(workspace->selection(), &Selection::tokenChanged, this, &RotaryTerms::refresh);
    connect(workspace->selection(), &Selection::rotaryOffsetChanged, this, &RotaryTerms::showTerms);
}

void RotaryTerms::createLayout()
{
    makeSecondary(m_words);
    m_words->setWordWrap(true);
    auto* box = new OffsetBox(workspace(), this);
    box->setAccessibleName(tr("Offset of the key as a number"));
    auto* offsets = new QHBoxLayout;
    offsets->setSpacing(8);
    offsets->addWidget(new QLabel(tr("Offset"), this));
    offsets->addWidget(new OffsetSlider(workspace(), this), 1);
    offsets->addWidget(box);
    auto* charts = new QSplitter(Qt::Vertical, this);
    charts->setChildrenCollapsible(false);
    charts->addWidget(m_scores);
    charts->addWidget(m_terms);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(offsets);
    layout->addWidget(charts, 1);
    layout->addWidget(m_words);
}

void RotaryTerms::clear(const QString& message)
{
    m_job.cancel();
    m_answer.reset();
    m_scores->showMessage(message);
    m_terms->showMessage({});
    m_words->clear();
}

void RotaryTerms::recompute()
{
    const auto circuits = workspace()->model()->circuits();
    const auto tokens = workspace()->model()->tokens();
    if (!hasRotaryPositions(*workspace()))
        return clear({});
    if (!tokens)
        return clear(tr("Reading the embeddings…"));
    using Found = std::shared_ptr<const Answer>;
    const HeadId head = workspace()->selection()->head();
    m_job.start(tr("Scores of %1 by frequency").arg(text(head)),
                aboutModel(circuits,
                           [circuits, tokens, head,
                            token = workspace()->selection()->token()](const Task& task) -> Result<Found> {
                               if (token >= tokens->embeddingOf(head.layer).count())
                                   return Error{ErrorCode::InvalidArgument, "The token has no row in E."};
                               return Answer::of(*circuits, *tokens, head, token, task);
                           }),
                [this](const Result<Found>& found) {
                    if (!found)
                        return clear(text(found.error()));
                    m_answer = *found;
                    showScores();
                    showTerms();
                });
}

void RotaryTerms::showScores()
{
    const QString token = workspace()->model()->tokenText(m_answer->token);
    const std::array titles{tr("Score, mean token"), tr("Score, query %1").arg(token)};
    Picture picture{.kind = Picture::Kind::Lines, .title = tr("Score by offset").toStdString(), .arrays = {}};
    ResultSet results;
    for (std::size_t i = 0; i < 2; ++i) {
        ResultArray array = shownArray(rotaryScorePaths[i], Axis::Offset, m_answer->scores[i]);
        array.title = titles[i].toStdString();
        array.unit = "logits";
        picture.arrays.push_back(array.path);
        results.arrays.push_back(std::move(array));
    }
    m_scores->showPicture(picture, std::move(results));
}

void RotaryTerms::showTerms()
{
    if (!m_answer)
        return;
    const int offset = workspace()->selection()->rotaryOffset();
    const QString token = workspace()->model()->tokenText(m_answer->token);
    const std::array titles{tr("Share, mean token"), tr("Share, query %1").arg(token)};
    const std::array pairs{tr("Mean token with itself"), tr("Query %1 with the mean token's key").arg(token)};
    std::vector<std::string> names = frequencyNames(rotaryFrequencies(m_answer->rotary));
    if (m_answer->hasContent)
        names.insert(names.begin(), tr("content").toStdString());
    Picture picture{.kind = Picture::Kind::Bars,
                    .title = tr("Score by frequency at Δ = %1").arg(offset).toStdString(),
                    .arrays = {}};
    ResultSet results;
    QStringList words{tr("%1 at Δ = %2.").arg(text(m_answer->head)).arg(offset)};
    for (std::size_t i = 0; i < 2; ++i) {
        const RotaryKernel& kernel = m_answer->kernels[i];
        const Eigen::VectorXd shares = frequencyTerms(m_answer->rotary, kernel, offset);
        std::vector<double> values(shares.begin(), shares.end());
        if (m_answer->hasContent)
            values.insert(values.begin(), kernel.constant);
        ResultArray array = shownArray(
            rotaryTermPaths[i], ArrayAxis::named("frequency (wavelength, positions per turn)"), values);
        array.title = titles[i].toStdString();
        array.unit = "logits";
        array.attributes["labels"] = names;
        picture.arrays.push_back(array.path);
        results.arrays.push_back(std::move(array));
        words << tr("%1: %2 from content, %3 from frequencies, %4 together.")
                     .arg(pairs[i], signedNumber(kernel.constant), signedNumber(shares.sum()),
                          signedNumber(kernel.constant + shares.sum()));
    }
    if (m_answer->cap > 0)
        words << tr("The bars add up to the score before the soft cap.");
    if (m_answer->head.layer > 0)
        words << tr("Layers above 0 read tokens that earlier layers have changed: an approximation here.");
    m_terms->showPicture(picture, std::move(results));
    m_words->setText(words.join(u' '));
}

QList<FigureSource*> RotaryTerms::figures()
{
    return m_answer ? m_scores->figures() + m_terms->figures() : QList<FigureSource*>{};
}

} // namespace headwise::ui
