#include "core/analysis/comparison/model_comparison.h"
#include "core/base/log.h"
#include "core/io/model_tokenizer.h"
#include "core/io/token_search.h"
#include "core/session/session_file.h"
#include "ui/text.h"
#include "ui/workspace.h"

#include <QTimer>

#include <algorithm>
#include <utility>

// Models and sessions: opened, closed, saved.

namespace headwise::ui {

struct Workspace::Opened {
    ModelSource source;
    std::shared_ptr<const ModelWeights> weights;
    std::shared_ptr<const ProcessedWeights> processed;
    std::shared_ptr<const Tokenizer> tokenizer; // null where the folder has none
    std::vector<bool> unused;                   // ids without a token
    QString tokenizerProblem;
};

namespace {

/// The wish that makes `applied` again.
ProcessingWish wishOf(const Processing& applied)
{
    const auto wish = [](bool on) { return on ? StepWish::Default : StepWish::Off; };
    return {wish(applied.foldLayerNorm), wish(applied.centerWritingWeights), wish(applied.centerUnembed),
            wish(applied.foldValueBiases), applied.refactorAttention ? StepWish::Required : StepWish::Off};
}

std::vector<bool> unusedIds(const Tokenizer& tokenizer, int count)
{
    std::vector<bool> unused(static_cast<std::size_t>(count));
    for (int id = 0; id < count; ++id)
        unused[static_cast<std::size_t>(id)] = !tokenizer.hasToken(id);
    return unused;
}

/// A session and what reading tens of thousands of tokens out of it takes.
struct OpenedSession {
    std::shared_ptr<const Session> session;
    std::shared_ptr<const ResultSet> results;
    std::shared_ptr<const Tokenizer> tokenizer; // null where it has no tokens
    std::vector<bool> unused;
};

Result<std::shared_ptr<const OpenedSession>> readWhole(const std::filesystem::path& file, const Task& task)
{
    auto session = readSession(file, task);
    if (!session)
        return session.error();
    auto opened = std::make_shared<OpenedSession>();
    opened->session = std::make_shared<const Session>(std::move(session).value());
    opened->results = std::make_shared<const ResultSet>(opened->session->results);
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
    auto opened = std::make_shared<Opened>();
    opened->source = source;
    auto weights = loadModel(source, task);
    if (!weights)
        return weights.error();
    opened->weights = *weights;
    auto result = processedWeights(*weights, wish, task);
    if (!result)
        return result.error();
    opened->processed = *result;
    auto tokenizer = openModelTokenizer(opened->weights->file());
    if (tokenizer)
        opened->tokenizer = std::make_shared<const Tokenizer>(std::move(tokenizer).value());
    else if (tokenizer.error().code != ErrorCode::NotFound)
        opened->tokenizerProblem = text(tokenizer.error());
    if (opened->tokenizer)
        opened->unused = unusedIds(*opened->tokenizer, opened->weights->config().dVocab);
    return std::shared_ptr<const Opened>(std::move(opened));
}

void Workspace::openModel(const ModelSource& source)
{
    using Answer = std::shared_ptr<const Opened>;
    const auto missing = std::make_shared<MissingConfig>();
    m_openJob.start(
        tr("Opening %1").arg(text(source.path.filename().string())),
        [source, missing](const Task& task) -> Result<Answer> {
            Result<Answer> answer = read(source, {}, task);
            if (!answer && answer.error().code != ErrorCode::Cancelled)
                *missing = missingConfig(source);
            return answer;
        },
        [this, source, missing](const Result<Answer>& result) {
            if (!result && missing->isMissing) {
                QStringList keys;
                for (const std::string& key : missing->keys)
                    keys << text(key);
                return emit configMissing(source, keys, text(result.error()));
            }
            if (!result)
                return emit openFailed(text(result.error()));
            m_session.reset();
            m_sessionFile.clear();
            m_sessionView.clear();
            m_notes.clear();
            m_bookmarks.clear();
            m_modified = false;
            m_readOnly = false;
            m_processJob.cancel();
            m_results = std::make_shared<ResultSet>();
            m_wish = {};
            m_embedding = Embedding::Raw;
            forgetInputs();
            applyModel(*result);
            emit opened();
            emit headChanged(m_head);
        });
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
    if (!m_session) {
        m_head = {};
        m_token = firstWord();
        forgetHistory();
    }
    emit circuitsChanged();
    if (!opened->tokenizerProblem.isEmpty())
        emit failed(opened->tokenizerProblem);
    updateBanner();
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

void Workspace::recoverSession(const std::filesystem::path& copy, const std::filesystem::path& original)
{
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
    m_notes = m_session->notes;
    m_bookmarks = m_session->bookmarks;
    m_readOnly = m_session->formatVersion > 1;
    m_modified = origin == Origin::Recovery;
    m_wish = wishOf(m_session->processing);
    m_embedding = parseEmbedding(m_session->embedding).value_or(Embedding::Raw);
    m_head = {};
    m_token = firstWord();
    forgetHistory();
    forgetInputs();
    updateBanner();
    emit circuitsChanged();
    emit opened();
    // In an event of its own: the window has just been laid out for the first time.
    QTimer::singleShot(0, this, [this, now = m_session] {
        if (m_session != now)
            return;
        emit resultsChanged();
        emit headChanged(m_head);
        std::error_code code;
        if (!m_session->model.source.empty() && std::filesystem::exists(m_session->model.source, code))
            locateModel(m_session->model.source);
    });
}

void Workspace::locateModel(const std::filesystem::path& path)
{
    using Answer = std::shared_ptr<const Opened>;
    if (!m_session)
        return;
    m_openJob.start(
        tr("Looking for the session's model"),
        [path, wish = m_wish, expected = m_session->model.sha256](const Task& task) -> Result<Answer> {
            auto opened = read({path, {}, {}}, wish, task);
            if (opened && (*opened)->weights->file().sha256() != expected)
                return Error{ErrorCode::InvalidArgument,
                             "'" + path.string()
                                 + "' is not the model this session was made from; open it on its own."};
            return opened;
        },
        [this](const Result<Answer>& result) {
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
    emit circuitsChanged();
    emit tokenChanged(m_token);
    if (sameIds || !m_circuits)
        return emit tokensChanged();
    stopComputing();
    computeAgain();
}

void Workspace::compareWith(const ModelSource& newer)
{
    if (!m_circuits)
        return;
    m_comparisonJob.start(
        tr("Comparing with %1").arg(text(newer.path.filename().string())),
        [older = m_circuits, tokenizer = m_tokenizer, unused = m_unused, wish = m_wish,
         newer](const Task& task) -> Result<ResultSet> {
            const auto opened = read(newer, wish, task);
            if (!opened)
                return opened.error();
            ComparisonOptions options;
            options.unusedTokens = unused;
            options.sameVocabulary =
                haveSameVocabulary(tokenizer.get(), (*opened)->tokenizer.get(), older->config().dVocab);
            auto found = compareModels(*older, Circuits((*opened)->processed), options, task);
            if (!found)
                return found;
            ResultSet results = std::move(found).value();
            const ModelCard card = modelCard(*(*opened)->weights);
            results.groupAttributes["comparison"] = {{"model_b_name", card.name},
                                                     {"model_b_architecture", card.architecture},
                                                     {"model_b_source", card.source},
                                                     {"model_b_sha256", card.sha256}};
            return results;
        },
        [this](Result<ResultSet> found) {
            if (!found)
                return emit failed(text(found.error()));
            ResultSet all = *m_results;
            std::erase_if(all.arrays,
                          [](const ResultArray& array) { return array.path.starts_with("comparison/"); });
            all.merge(std::move(found).value());
            setResults(std::move(all));
        });
}

QString Workspace::comparedWith() const
{
    const auto group = m_results->groupAttributes.find("comparison");
    if (group == m_results->groupAttributes.end())
        return {};
    const auto name = group->second.find("model_b_name");
    const auto* words = name == group->second.end() ? nullptr : std::get_if<std::string>(&name->second);
    return words ? text(*words) : QString();
}

void Workspace::close()
{
    m_openJob.cancel();
    m_processJob.cancel();
    m_comparisonJob.cancel();
    stopComputing();
    m_card.reset();
    dispose(m_weights);
    dispose(m_processed);
    dispose(m_circuits);
    dispose(m_tokenizer);
    dispose(m_session);
    m_results = std::make_shared<ResultSet>();
    forgetInputs();
    m_sessionFile.clear();
    m_modified = false;
    emit bannerChanged({});
    emit closed();
}

std::function<Session()> Workspace::snapshot(const QString& view) const
{
    // Everything is held by pointer to const or by value: the window goes on while it is put together.
    return [card = *m_card, processed = m_processed, session = m_session, results = m_results,
            tokenizer = m_tokenizer, embedding = std::string(embeddingName(m_embedding)), notes = m_notes,
            bookmarks = m_bookmarks, source = m_source.path.string(), view = view.toStdString()] {
        Session made = processed ? makeSession(*processed, embedding, tokenizer.get(), *results) : *session;
        if (!processed && tokenizer && made.tokens.empty()) {
            for (int id = 0; id < card.dVocab; ++id) {
                made.tokens.push_back(tokenizer->shown(id));
                made.tokenBytes.push_back(tokenizer->bytes(id));
            }
        }
        made.results = *results;
        made.created = session ? session->created : std::string();
        made.notes = notes;
        made.bookmarks = bookmarks;
        made.view = view;
        if (made.model.source.empty())
            made.model.source = source;
        return made;
    };
}

void Workspace::saveSession(const std::filesystem::path& file, const QString& view)
{
    if (!isOpen())
        return;
    if (m_readOnly)
        return emit failed(
            tr("This session was written by a newer Headwise and is open read-only; nothing was saved."));
    m_saveJob.start(
        tr("Saving %1").arg(text(file.filename().string())),
        [file, session = snapshot(view)](const Task& task) { return writeSession(file, session(), task); },
        [this, file](const Result<Done>& result) {
            if (!result)
                return emit failed(text(result.error()));
            m_sessionFile = file;
            m_modified = false;
            emit sessionSaved(text(file.string()));
        });
}

} // namespace headwise::ui
