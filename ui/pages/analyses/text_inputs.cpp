#include "ui/pages/analyses/text_inputs.h"

#include "core/analysis/inputs/relation_file.h"
#include "core/analysis/inputs/token_counts.h"
#include "ui/base/text.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>

#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {

constexpr std::array allTextInputs{TextInputs::Tokens, TextInputs::Bigrams, TextInputs::Names,
                                   TextInputs::Relations};

/// Content of a file; the other inputs are empty.
struct Read {
    AnalysisInputs inputs;
    std::string warning;
};

Result<Read> readFile(TextInputs::Kind kind, const std::string& file, const Vocabulary& vocabulary)
{
    Read read;
    if (kind == TextInputs::Names) {
        auto words = readWords(file);
        if (!words)
            return words.error();
        read.inputs.names = std::move(words).value();
    } else if (kind == TextInputs::Relations) {
        auto relations = readRelations(file);
        if (!relations)
            return relations.error();
        read.inputs.relations = std::move(relations).value();
    } else if (kind == TextInputs::Tokens) {
        const auto found = readTokenCounts(file, vocabulary);
        if (!found)
            return found.error();
        read.inputs.tokenCounts = found->counts;
        read.warning = found->warning;
    } else {
        const auto found = readBigramCounts(file, vocabulary);
        if (!found)
            return found.error();
        read.inputs.bigramCounts = found->counts;
        read.warning = found->warning;
    }
    return read;
}

bool holdsLocalFile(const QMimeData* data)
{
    return data->hasUrls() && data->urls().first().isLocalFile();
}

} // namespace

InputFile::InputFile(const QString& title, const QString& filter, QWidget* parent)
    : QWidget(parent)
    , m_state(new QLabel(this))
    , m_clear(new QPushButton(tr("Clear"), this))
{
    setAcceptDrops(true);
    auto* choose = new QPushButton(tr("Choose a file…"), this);
    choose->setAccessibleName(tr("%1: choose a file").arg(title));
    m_clear->setAccessibleName(tr("%1: none").arg(title));
    setAccessibleName(title);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    for (QWidget* part : std::initializer_list<QWidget*>{m_state, choose, m_clear})
        row->addWidget(part);
    row->addStretch();
    connect(choose, &QPushButton::clicked, this, [this, title, filter] {
        const QString file = QFileDialog::getOpenFileName(this, title, {}, filter);
        if (!file.isEmpty())
            emit chosen(file);
    });
    connect(m_clear, &QPushButton::clicked, this, [this] { emit chosen({}); });
}

void InputFile::say(const QString& state, bool isGiven)
{
    m_state->setText(state);
    m_clear->setVisible(isGiven);
}

void InputFile::dragEnterEvent(QDragEnterEvent* event)
{
    if (holdsLocalFile(event->mimeData()))
        event->acceptProposedAction();
}

void InputFile::dropEvent(QDropEvent* event)
{
    event->acceptProposedAction();
    emit chosen(event->mimeData()->urls().first().toLocalFile());
}

TextInputs::TextInputs(Workspace* workspace, QFormLayout* rows, QWidget* parent)
    : QObject(parent)
    , m_workspace(workspace)
    , m_rows(rows)
    , m_files{new InputFile(tr("Token counts"), tr("Counts (*.csv *.json *.npy);;All files (*)"), parent),
              new InputFile(tr("Bigram counts"), tr("Counts (*.csv *.json);;All files (*)"), parent),
              new InputFile(tr("Words"), tr("Words (*.txt *.csv);;All files (*)"), parent),
              new InputFile(tr("Relations"), tr("Relations (*.csv *.json);;All files (*)"), parent)}
{
    m_files[Tokens]->setToolTip(tr(
        "Token counts from your own text, how often each token occurs: CSV with the columns token,count, a JSON object, or a NumPy vector of one number per id"));
    m_files[Bigrams]->setToolTip(tr(
        "Bigram counts from your own text, how often a token directly follows another: CSV with the columns first,second,count, or a JSON array of such triples"));
    m_files[Names]->setToolTip(tr("Your own words, one per line"));
    m_files[Relations]->setToolTip(tr("Your own pairs of words, as in France,Paris"));
    const std::array labels{tr("Token counts"), tr("Bigram counts"), tr("Words"), tr("Relations")};
    for (const Kind kind : allTextInputs) {
        rows->addRow(labels[kind], m_files[kind]);
        connect(m_files[kind], &InputFile::chosen, this,
                [this, kind](const QString& file) { load(kind, file); });
    }
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed})
        connect(workspace->model(), signal, this, [this] {
            for (Job& job : m_jobs)
                job.cancel(); // its ids would belong to another model
            showFiles();
        });
    connect(workspace->runs(), &Runs::inputsChanged, this, &TextInputs::showFiles);
    showFiles();
}

void TextInputs::setNeeds(const Analysis& analysis)
{
    const OptionalInputs& uses = analysis.uses;
    const std::array shown{uses.tokenCounts, uses.bigramCounts, uses.names, uses.relations};
    for (const Kind kind : allTextInputs) {
        m_files[kind]->setVisible(shown[kind]);
        m_rows->labelForField(m_files[kind])->setVisible(shown[kind]);
    }
}

void TextInputs::load(Kind kind, const QString& file)
{
    m_jobs[kind].cancel();
    if (file.isEmpty())
        return give(kind, {}, {});
    if (!m_workspace->model()->isOpen())
        return;
    m_files[kind]->say(tr("reading %1").arg(QFileInfo(file).fileName()), true);
    m_jobs[kind].start(
        tr("Reading %1").arg(QFileInfo(file).fileName()),
        [kind, path = file.toStdString(), tokenizer = m_workspace->model()->tokenizer(),
         size = m_workspace->model()->card().dVocab](const Task&) {
            return readFile(kind, path, {tokenizer.get(), size});
        },
        [this, kind, file](const Result<Read>& read) {
            give(kind, read ? read->inputs : AnalysisInputs(), file);
            if (!read)
                emit said(text(read.error()));
            else if (!read->warning.empty())
                emit said(text(read->warning));
        });
}

void TextInputs::give(Kind kind, const AnalysisInputs& read, const QString& file)
{
    AnalysisInputs inputs = m_workspace->runs()->inputs();
    switch (kind) {
    case Tokens: inputs.tokenCounts = read.tokenCounts; break;
    case Bigrams: inputs.bigramCounts = read.bigramCounts; break;
    case Names:
        inputs.names = read.names;
        m_namesFile = QFileInfo(file).fileName();
        break;
    case Relations:
        inputs.relations = read.relations;
        m_relationsFile = QFileInfo(file).fileName();
        break;
    }
    m_workspace->runs()->setInputs(inputs);
    emit loaded();
    showFiles();
}

void TextInputs::showFiles()
{
    const AnalysisInputs inputs = m_workspace->runs()->inputs();
    const auto say = [this](Kind kind, const QString& state, bool isGiven) {
        if (!m_jobs[kind].isRunning())
            m_files[kind]->say(state, isGiven);
    };
    const TokenCounts* tokens = inputs.tokenCounts.get();
    const BigramCounts* bigrams = inputs.bigramCounts.get();
    const bool hasNames = !inputs.names.empty();
    say(Tokens,
        tokens ? tr("%1: %2 occurrences").arg(text(tokens->source()), count(std::llround(tokens->total())))
               : tr("unknown"),
        tokens);
    say(Bigrams,
        bigrams ? tr("%1: %2 pairs").arg(text(bigrams->source()), count(static_cast<qint64>(bigrams->size())))
                : tr("unknown"),
        bigrams);
    say(Names,
        hasNames ? tr("%1: %2 words").arg(m_namesFile, count(static_cast<qint64>(inputs.names.size())))
                 : tr("the built-in first names"),
        hasNames);
    const std::vector<Relation>& relations = inputs.relations;
    say(Relations,
        relations.empty()                ? tr("the built-in ones")
            : !m_relationsFile.isEmpty() ? tr("%1 of %2").arg(relations.size()).arg(m_relationsFile)
            : relations.size() == 1      ? text(relations.front().name)
                                         : tr("%1 lists").arg(relations.size()),
        !relations.empty());
}

} // namespace headwise::ui
