#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/session/session_file.h"
#include "core/tokenizer/token_search.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/document/workspace_opened.h"

#include <QTimer>

#include <algorithm>
#include <tuple>
#include <utility>

// Models and sessions: opened, closed, saved.

namespace headwise::ui {

namespace {

/// The wish that makes `applied` again.
ProcessingWish wishOf(const Processing& applied)
{
    const auto wish = [](bool on) { return on ? StepWish::Default : StepWish::Off; };
    ProcessingWish again{wish(applied.foldLayerNorm), wish(applied.centerWritingWeights),
                         wish(applied.centerUnembed), wish(applied.foldValueBiases),
                         applied.refactorAttention ? StepWish::Required : StepWish::Off};
    again.headChanges = applied.headChanges;
    return again;
}

QStringList texts(const std::vector<std::string>& words)
{
    QStringList all;
    for (const std::string& word : words)
        all << text(word);
    return all;
}

/// A session and what reading tens of thousands of tokens out of it takes.
struct OpenedSession {
    std::shared_ptr<const Session> session;
    std::shared_ptr<const ResultSet> results;
    std::shared_ptr<const Tokenizer> tokenizer; // null where it has no tokens
    std::vector<bool> unused;
    FileStamp stamp;
};

/// Controls become visible, those of the direction of writing too: names of a file cannot reorder what stands beside them.
void showControls(ResultSet& results)
{
    for (ResultArray& array : results.arrays) {
        for (std::string* words : {&array.path, &array.title, &array.definition, &array.unit})
            *words = shownSpecialToken(*words);
        for (std::string& axis : array.axes)
            axis = shownSpecialToken(axis);
    }
    for (std::string& warning : results.warnings)
        warning = shownSpecialToken(warning);
}

Result<std::shared_ptr<const OpenedSession>> readWhole(const std::filesystem::path& file, const Task& task)
{
    const FileStamp stamp = stampOf(file); // before: what is written while it is read is a change
    auto session = readSession(file, task);
    if (!session)
        return session.error();
    auto opened = std::make_shared<OpenedSession>();
    opened->stamp = stamp;
    opened->session = std::make_shared<const Session>(std::move(session).value());
    ResultSet results = opened->session->results;
    showControls(results);
    opened->results = std::make_shared<const ResultSet>(std::move(results));
    if (!opened->session->tokens.empty()) {
        opened->tokenizer = std::make_shared<const Tokenizer>(
            Tokenizer::fromVocabulary(opened->session->tokens, opened->session->tokenBytes));
        opened->unused = unusedIds(*opened->tokenizer, opened->session->model.dVocab);
    }
    return std::shared_ptr<const OpenedSession>(std::move(opened));
}

/// Frees what may be hundreds of megabytes on another thread: giving them back takes the system a while.
template <typename Owned>
void dispose(std::shared_ptr<Owned>& owned)
{
    detail::jobPool().start([last = std::exchange(owned, nullptr)]() mutable { last.reset(); });
}

} // namespace

Result<std::shared_ptr<const Workspace::Opened>> Workspace::read(const ModelSource& source,
                                                                 const ProcessingWish& wish, const Task& task)
{
    auto model = readModel(source, wish, task);
    if (!model)
        return model.error();
    return std::make_shared<const Opened>(Opened{std::move(model).value()});
}

void Workspace::openModel(const ModelSource& source)
{
    startOpening(source, false);
}

void Workspace::reload()
{
    if (!isOpen())
        return;
    if (m_sessionFile.empty())
        startOpening(m_source, true);
    else
        openSession(m_sessionFile);
}

void Workspace::startOpening(const ModelSource& source, bool again)
{
    using Answer = std::shared_ptr<const Opened>;
    const auto missing = std::make_shared<MissingConfig>();
    m_openJob.start(
        tr("Opening %1").arg(text(source.path.filename().string())),
        [source, missing, wish = again ? m_wish : ProcessingWish()](const Task& task) -> Result<Answer> {
            Result<Answer> answer = read(source, wish, task);
            if (!answer && answer.error().code != ErrorCode::Cancelled)
                *missing = missingConfig(source);
            return answer;
        },
        [this, source, missing, again](const Result<Answer>& result) {
            if (!result && missing->isMissing)
                return emit configMissing(source, texts(missing->keys), text(result.error()));
            if (!result)
                return emit openFailed(text(result.error()));
            forgetSession();
            if (again)
                openedAgain(*result);
            else
                openedModel(*result);
        });
}

void Workspace::forgetSession()
{
    m_session.reset();
    m_sessionFile.clear();
    m_sessionView.clear();
    m_sessionStamp = {};
    m_notebook->setContents({});
    m_fileNotes = {};
    ++m_opening;
    m_resultRevision.forget();
    m_readOnly = false;
    m_processJob.cancel();
    m_results = std::make_shared<ResultSet>();
}

void Workspace::openedModel(const std::shared_ptr<const Opened>& opened)
{
    m_wish = {};
    m_embedding = Embedding::Raw;
    forgetInputs();
    m_notebook->forgetOwnHeadClasses();
    applyModel(opened);
    announceOpened();
}

void Workspace::announceOpened()
{
    // Each in an event of its own, so that none keeps the window: it is laid out for the first time in between.
    QTimer::singleShot(0, this, [this, now = m_weights] {
        if (m_weights != now)
            return;
        emit opened();
        QTimer::singleShot(0, this, [this, now] {
            if (m_weights == now)
                m_selection->announceHead();
        });
    });
}

void Workspace::openedAgain(const std::shared_ptr<const Opened>& opened)
{
    const Selection::Place before = m_selection->place();
    Runs::Question asked = m_runs->question();
    const TokenFilter filter = m_wantedFilter;
    const int offset = m_selection->rotaryOffset();
    const ModelConfig& config = opened->weights->config();
    const bool isSameShape = m_card->dModel == config.dModel && m_card->dVocab == config.dVocab
        && m_card->nLayers == config.nLayers && m_card->nHeads == config.nHeads;
    if (!whyNotEmbedding(opened->processed->config(), m_embedding).empty())
        m_embedding = Embedding::Raw;
    forgetInputs();
    if (isSameShape) {
        m_runs->restore(std::move(asked));
        m_wantedFilter = filter;
        m_selection->clear(std::min(offset, config.nCtx - 1));
    } else
        m_notebook->forgetOwnHeadClasses();
    applyModel(opened);
    if (isSameShape)
        m_selection->setPlace(before);
    announceOpened();
}

void Workspace::applyModel(const std::shared_ptr<const Opened>& opened)
{
    stopComputing();
    m_source = opened->source;
    m_weights = opened->weights;
    m_processed = opened->processed;
    m_circuits = std::make_shared<const Circuits>(m_processed);
    m_tokenizer = opened->tokenizer;
    m_card = modelCard(*m_weights);
    m_unused = opened->unused;
    if (!m_session)
        m_selection->start(firstWord());
    emit circuitsChanged();
    if (!opened->tokenizerProblem.isEmpty())
        emit failed(opened->tokenizerProblem);
    updateBanner();
    findLeftOut();
    startTokens();
    queueDefaultAnalyses();
}

int Workspace::firstWord() const
{
    const std::vector<int> words = m_tokenizer ? sampleOfWords(*m_tokenizer, 1) : std::vector<int>();
    return words.empty() || words.front() >= m_card->dVocab ? 0 : words.front();
}

void Workspace::openSession(const std::filesystem::path& file)
{
    readAndApply(file, file, Origin::File);
}

void Workspace::recoverSession(const std::filesystem::path& copy, const std::filesystem::path& original,
                               const FileStamp& stamp)
{
    m_recoveredStamp = stamp;
    readAndApply(copy, original, Origin::Recovery);
}

void Workspace::readAndApply(const std::filesystem::path& from, const std::filesystem::path& file,
                             Origin origin)
{
    m_openJob.start(
        tr("Opening %1").arg(text(from.filename().string())),
        [from](const Task& task) { return readWhole(from, task); },
        [this, file, origin](const Result<std::shared_ptr<const OpenedSession>>& result) {
            if (!result)
                return emit openFailed(text(result.error()));
            m_tokenizer = (*result)->tokenizer;
            m_unused = (*result)->unused;
            m_results = (*result)->results;
            m_sessionStamp = origin == Origin::File ? (*result)->stamp : m_recoveredStamp;
            applySession((*result)->session, file, origin);
        });
}

void Workspace::applySession(std::shared_ptr<const Session> session, const std::filesystem::path& file,
                             Origin origin)
{
    stopComputing();
    m_processJob.cancel();
    dispose(m_weights);
    dispose(m_processed);
    dispose(m_circuits);
    m_session = std::move(session);
    m_sessionFile = file;
    m_source = {};
    m_sessionView = text(m_session->view);
    m_card = m_session->model;
    for (std::string* words :
         {&m_card->name, &m_card->architecture, &m_card->positional, &m_card->normalization})
        *words = shownSpecialToken(*words);
    m_notebook->setContents({m_session->notes, m_session->bookmarks});
    // A recovery copy does not say what its original had, so a merge loses none of its notes.
    m_fileNotes = origin == Origin::File ? m_notebook->contents() : NotebookContents();
    m_readOnly = m_session->formatVersion > 1;
    ++m_opening;
    m_resultRevision.forget();
    if (origin == Origin::Recovery)
        m_notebook->revision().change();
    m_wish = wishOf(m_session->processing);
    m_embedding = parseEmbedding(m_session->embedding).value_or(Embedding::Raw);
    m_selection->start(firstWord());
    forgetInputs();
    m_notebook->forgetOwnHeadClasses();
    updateBanner();
    emit circuitsChanged();
    // Each in an event of its own, so that none keeps the window: it is laid out for the first time in between.
    const auto showResults = [this, now = m_session] {
        if (m_session != now)
            return;
        emit resultsChanged();
        m_selection->announceHead();
        std::error_code code;
        if (!now->model.source.empty() && std::filesystem::exists(now->model.source, code))
            locateModel({now->model.source, std::nullopt, {}});
    };
    QTimer::singleShot(0, this, [this, now = m_session, showResults] {
        if (m_session != now)
            return;
        emit opened();
        QTimer::singleShot(0, this, showResults);
    });
}

void Workspace::locateModel(ModelSource source)
{
    using Answer = std::shared_ptr<const Opened>;
    if (!m_session)
        return;
    ModelSource known = headwise::modelSource(*m_session);
    if (!source.configFile)
        source.configFile = std::move(known.configFile);
    source.overrides.merge(std::move(known.overrides)); // what was said now stays
    const auto missing = std::make_shared<MissingConfig>();
    m_openJob.start(
        tr("Looking for the session's model"),
        [source, missing, wish = m_wish,
         expected = m_session->model.sha256](const Task& task) -> Result<Answer> {
            auto opened = read(source, wish, task);
            if (!opened && opened.error().code != ErrorCode::Cancelled)
                *missing = missingConfig(source);
            if (opened && (*opened)->weights->file().sha256() != expected)
                return Error{ErrorCode::InvalidArgument,
                             "'" + source.path.string()
                                 + "' is not the model this session was made from; open it on its own."};
            return opened;
        },
        [this, source, missing](const Result<Answer>& result) {
            if (!result && missing->isMissing)
                return emit locatedConfigMissing(source, texts(missing->keys), text(result.error()));
            if (!result)
                return emit failed(text(result.error()));
            const auto ofSession = m_tokenizer;
            applyModel(*result);
            if (!m_tokenizer && ofSession)
                applyTokenizer(ofSession);
        });
}

void Workspace::addTokenizer(const std::filesystem::path& path)
{
    using Answer = std::shared_ptr<const Tokenizer>;
    if (!isOpen())
        return;
    m_openJob.start(
        tr("Reading %1").arg(text(path.filename().string())),
        [path](const Task&) -> Result<Answer> {
            auto tokenizer = Tokenizer::open(path);
            if (!tokenizer)
                return tokenizer.error();
            return std::make_shared<const Tokenizer>(std::move(tokenizer).value());
        },
        [this](const Result<Answer>& result) {
            if (!result)
                return emit failed(text(result.error()));
            applyTokenizer(*result);
            if (m_tokenizer->size() > m_card->dVocab)
                emit failed(
                    tr("The tokenizer has ids up to %1, the model up to %2: it may belong to another model.")
                        .arg(m_tokenizer->size() - 1)
                        .arg(m_card->dVocab - 1));
        });
}

void Workspace::applyTokenizer(std::shared_ptr<const Tokenizer> tokenizer)
{
    m_tokenizer = std::move(tokenizer);
    std::vector<bool> unused = unusedIds(*m_tokenizer, m_card->dVocab);
    const auto isUnused = [](bool id) { return id; };
    // Tables leave out ids without a token: only with the same ones are those that are there still right.
    const bool sameIds =
        m_unused.empty() ? std::none_of(unused.begin(), unused.end(), isUnused) : unused == m_unused;
    m_unused = std::move(unused);
    updateBanner();
    findLeftOut();
    emit circuitsChanged();
    m_selection->announceToken();
    if (sameIds || !m_circuits)
        return emit tokensChanged();
    stopComputing();
    computeAgain();
}

void Workspace::close()
{
    m_openJob.cancel();
    m_processJob.cancel();
    m_comparisonJob.cancel();
    stopComputing();
    m_card.reset();
    auto last = std::tuple(std::exchange(m_weights, nullptr), std::exchange(m_processed, nullptr),
                           std::exchange(m_circuits, nullptr), std::exchange(m_tokenizer, nullptr),
                           std::exchange(m_session, nullptr),
                           std::exchange(m_results, std::make_shared<ResultSet>()));
    forgetInputs();
    m_notebook->forgetOwnHeadClasses();
    m_sessionFile.clear();
    ++m_opening;
    m_notebook->revision().forget();
    m_resultRevision.forget();
    emit bannerChanged({});
    emit closed();
    detail::jobPool().start([last = std::move(last)]() mutable {
        last = {};
        returnFreedMemory();
    });
}

} // namespace headwise::ui
