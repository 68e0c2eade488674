#include "ui/document/opener.h"

#include "core/base/memory.h"
#include "core/model/adapters/adapter.h"
#include "core/model/families/inferred_config.h"
#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/document/training_series.h"
#include "ui/document/workspace.h"

#include <QTimer>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

using SharedModel = std::shared_ptr<const OpenedModel>;

QStringList texts(const std::vector<std::string>& words)
{
    QStringList all;
    for (const std::string& word : words)
        all << text(word);
    return all;
}

/// Answers of the user with which a model would open that did not.
struct Wanted {
    MissingConfig config;
    std::vector<std::string> unknownTensors;
    bool isBaseMissing = false;
};

/// \param wanted  told if the reading failed
Result<SharedModel> read(const ModelSource& source, const ProcessingWish& wish, const Task& task,
                         Wanted& wanted)
{
    auto model = readModel(source, wish, task);
    if (!model) {
        const ErrorCode code = model.error().code;
        wanted.isBaseMissing =
            (code == ErrorCode::NotFound || code == ErrorCode::Corrupt) && isBaseMissing(source);
        if (code == ErrorCode::Unsupported)
            wanted.unknownTensors = unknownTensors(source);
        if (code != ErrorCode::Cancelled && wanted.unknownTensors.empty())
            wanted.config = missingConfig(source);
        return model.error();
    }
    return std::make_shared<const OpenedModel>(std::move(model).value());
}

/// Returns a token worth looking at first; 0 without a tokenizer.
int firstWord(const OpenModel& model)
{
    const std::vector<int> words =
        model.tokenizer() ? sampleOfWords(*model.tokenizer(), 1) : std::vector<int>();
    return words.empty() || words.front() >= model.card().dVocab ? 0 : words.front();
}

bool haveSameShape(const ModelCard& card, const ModelConfig& config)
{
    return card.dModel == config.dModel && card.dVocab == config.dVocab && card.nLayers == config.nLayers
        && card.nHeads == config.nHeads;
}

} // namespace

Opener::Opener(Workspace* workspace)
    : m_workspace(workspace)
{
}

void Opener::openModel(const ModelSource& source)
{
    startOpening(source, false);
}

void Opener::reload()
{
    if (!m_workspace->model()->isOpen())
        return;
    if (m_workspace->session()->path().empty())
        startOpening(m_workspace->model()->files().source, true);
    else if (m_workspace->model()->isSeries())
        openSeries(m_workspace->session()->path());
    else
        openSession(m_workspace->session()->path());
}

void Opener::reopen(const ModelSource& source)
{
    if (m_workspace->session()->path().empty())
        startOpening(source, true);
    else
        locateModel(source);
}

void Opener::completeConfig()
{
    const auto weights = m_workspace->model()->weights();
    QStringList keys;
    if (weights)
        for (const UnknownField& field : weights->config().unknown)
            keys << text(field.key);
    if (!keys.isEmpty())
        emit configIncomplete(m_workspace->model()->files().source, keys);
}

void Opener::startOpening(const ModelSource& source, bool again)
{
    m_newest = source;
    const auto wanted = std::make_shared<Wanted>();
    m_job.start(
        tr("Opening %1").arg(text(source.path.filename().string())),
        [source, wanted, wish = again ? m_workspace->model()->processingWish() : ProcessingWish()](
            const Task& task) { return read(source, wish, task, *wanted); },
        [this, source, wanted, again](const Result<SharedModel>& result) {
            m_optionalKeys = texts(wanted->config.optional);
            if (!result && wanted->isBaseMissing)
                return emit baseMissing(source, text(result.error()));
            if (!result && wanted->config.isMissing)
                return emit configMissing(source, texts(wanted->config.keys), text(result.error()));
            if (!result && !wanted->unknownTensors.empty())
                return emit tensorsUnknown(source, texts(wanted->unknownTensors), text(result.error()));
            if (!result)
                return emit openFailed(text(result.error()));
            KeptFigures figures = again ? m_workspace->session()->figures() : KeptFigures{};
            m_workspace->model()->forgetSession();
            m_workspace->session()->forget();
            m_workspace->session()->setFigures(std::move(figures));
            m_workspace->notebook()->setContents({});
            if (again)
                applySameModel(**result);
            else
                applyNewModel(**result);
        });
}

void Opener::applyNewModel(const OpenedModel& opened)
{
    forgetQuestion();
    applyModel(opened, {}, Embedding::Raw);
    announceModel();
}

void Opener::applySameModel(const OpenedModel& opened)
{
    OpenModel* model = m_workspace->model();
    Selection* selection = m_workspace->selection();
    const ModelConfig& config = opened.weights->config();
    const Selection::Place place = selection->place();
    const bool isSameShape = haveSameShape(model->card(), config);
    const bool keepsEmbedding = whyNotEmbedding(opened.processed->config(), model->embedding()).empty();
    if (isSameShape) {
        m_workspace->runs()->forgetAnswers();
        m_workspace->filteredTokens()->release();
        selection->clear(std::min(selection->rotaryOffset(), config.nCtx - 1));
    } else
        forgetQuestion();
    applyModel(opened, model->processingWish(), keepsEmbedding ? model->embedding() : Embedding::Raw);
    if (isSameShape)
        selection->setPlace(place);
    announceModel();
}

void Opener::applyModel(const OpenedModel& opened, const ProcessingWish& wish, Embedding embedding)
{
    OpenModel* model = m_workspace->model();
    model->setModel(opened, wish, embedding);
    if (!model->session())
        m_workspace->selection()->start(firstWord(*model));
    model->announceCircuits();
    if (!opened.tokenizerProblem.isEmpty())
        emit failed(opened.tokenizerProblem);
    model->compute();
}

void Opener::openSession(const std::filesystem::path& file)
{
    m_newest = ModelSource{file, {}, {}};
    m_job.start(
        tr("Opening %1").arg(text(file.filename().string())),
        [file](const Task& task) { return openSessionFile(file, task); },
        [this, file](const Result<std::shared_ptr<const OpenedSession>>& result) {
            if (!result)
                return emit openFailed(text(result.error()));
            const Session& session = *(*result)->session;
            applySession(**result);
            m_workspace->session()->setOpened(file, (*result)->stamp, {session.notes, session.bookmarks});
            announceSession();
        });
}

void Opener::openSeries(const std::filesystem::path& file)
{
    m_newest = ModelSource{file, {}, {}};
    m_job.start(
        tr("Opening %1").arg(text(file.filename().string())),
        [file](const Task& task) { return openSeriesFile(file, task); },
        [this](const Result<std::shared_ptr<const OpenedSeries>>& result) {
            if (!result)
                return emit openFailed(text(result.error()));
            showSeries(*result);
        });
}

void Opener::showSeries(const std::shared_ptr<const OpenedSeries>& opened)
{
    const OpenModel* model = m_workspace->model();
    TrainingSeries* series = TrainingSeries::of(m_workspace);
    if (model->isOpen() && !model->isSeries() && opened->hasHeadsOf(model->card()))
        return series->setOpened(opened);
    applySession(TrainingSeries::standIn(*opened));
    m_workspace->session()->setOpened(opened->file, opened->stamp, {});
    series->setOpened(opened);
    announceSession();
}

void Opener::recoverSession(const std::filesystem::path& copy, const std::filesystem::path& original,
                            const FileStamp& stamp)
{
    m_newest = ModelSource{original, {}, {}};
    m_job.start(
        tr("Opening %1").arg(text(copy.filename().string())),
        [copy](const Task& task) { return openSessionFile(copy, task); },
        [this, original, stamp](const Result<std::shared_ptr<const OpenedSession>>& result) {
            if (!result)
                return emit openFailed(text(result.error()));
            applySession(**result);
            // A recovery copy does not say what its original had, so a merge loses none of its notes.
            m_workspace->session()->setOpened(original, stamp, {});
            m_workspace->notebook()->revision().change();
            announceSession();
        });
}

void Opener::applySession(const OpenedSession& opened)
{
    m_workspace->model()->setSession(opened);
    m_workspace->notebook()->setContents({opened.session->notes, opened.session->bookmarks});
    m_workspace->selection()->start(firstWord(*m_workspace->model()));
    forgetQuestion();
}

void Opener::announceModel()
{
    const OpenModel* model = m_workspace->model();
    announceOpened([model, now = model->weights()] { return model->weights() == now; },
                   [this] { m_workspace->selection()->announceHead(); });
}

void Opener::announceSession()
{
    OpenModel* model = m_workspace->model();
    model->announceCircuits();
    announceOpened([model, now = model->session()] { return model->session() == now; },
                   [this, model] {
                       emit model->resultsChanged();
                       m_workspace->selection()->announceHead();
                       const std::string source = model->session()->model.source;
                       std::error_code code;
                       if (!source.empty() && std::filesystem::exists(source, code))
                           locateModel({source, std::nullopt, {}});
                   });
}

void Opener::announceOpened(const std::function<bool()>& isStillOpen, const std::function<void()>& showRest)
{
    // Each in an event of its own, so that none keeps the window: it is laid out for the first time in between.
    ++m_unannounced;
    QTimer::singleShot(0, this, [this, isStillOpen, showRest] {
        --m_unannounced;
        if (!isStillOpen())
            return;
        emit m_workspace->model()->opened();
        QTimer::singleShot(0, this, [isStillOpen, showRest] {
            if (isStillOpen())
                showRest();
        });
    });
}

void Opener::locateModel(ModelSource source)
{
    OpenModel* model = m_workspace->model();
    const auto session = model->session();
    if (!session)
        return;
    if (model->isSeries())
        return openModel(source); // any of its checkpoints
    ModelSource known = modelSource(*session);
    if (source.base.empty() && isAdapter(source.path)) {
        source.base = std::move(known.base);
        source.adapterStrength = known.adapterStrength;
    }
    if (!source.configFile)
        source.configFile = std::move(known.configFile);
    if (!source.namesFile)
        source.namesFile = std::move(known.namesFile);
    source.overrides.merge(std::move(known.overrides)); // The new answers win.
    source.ignored.insert(source.ignored.end(), known.ignored.begin(), known.ignored.end());
    m_newest.reset();
    const auto wanted = std::make_shared<Wanted>();
    m_job.start(
        tr("Looking for the session's model"),
        [source, wanted, wish = model->processingWish(),
         expected = session->model.sha256](const Task& task) -> Result<SharedModel> {
            auto opened = read(source, wish, task, *wanted);
            if (opened && (*opened)->weights->file().sha256() != expected)
                return Error{ErrorCode::InvalidArgument,
                             "'" + source.path.string()
                                 + "' is not the model of this session; open it separately."};
            return opened;
        },
        [this, source, wanted, model](const Result<SharedModel>& result) {
            m_optionalKeys = texts(wanted->config.optional);
            if (!result && wanted->config.isMissing)
                return emit locatedConfigMissing(source, texts(wanted->config.keys), text(result.error()));
            if (!result)
                return emit failed(text(result.error()));
            const auto ofSession = model->tokenizer();
            applyModel(**result, model->processingWish(), model->embedding());
            if (!model->tokenizer() && ofSession)
                model->setTokenizer(ofSession);
        });
}

void Opener::addTokenizer(const std::filesystem::path& path)
{
    using Read = std::shared_ptr<const Tokenizer>;
    OpenModel* model = m_workspace->model();
    if (!model->isOpen())
        return;
    m_newest.reset();
    m_job.start(
        tr("Reading %1").arg(text(path.filename().string())),
        [path](const Task&) -> Result<Read> {
            auto tokenizer = Tokenizer::open(path);
            if (!tokenizer)
                return tokenizer.error();
            return std::make_shared<const Tokenizer>(std::move(tokenizer).value());
        },
        [this, model](const Result<Read>& result) {
            if (!result)
                return emit failed(text(result.error()));
            model->setTokenizer(*result);
            const int last = (*result)->size() - 1, lastOfModel = model->card().dVocab - 1;
            if (last > lastOfModel)
                emit failed(
                    tr("The tokenizer has ids up to %1, the model up to %2. The tokenizer may belong to another model.")
                        .arg(last)
                        .arg(lastOfModel));
        });
}

const ModelSource* Opener::coming() const
{
    return m_newest && (m_job.isRunning() || m_unannounced > 0) ? &*m_newest : nullptr;
}

void Opener::forgetQuestion()
{
    m_workspace->runs()->forget();
    m_workspace->filteredTokens()->forget();
    m_workspace->selection()->clear();
    m_workspace->notebook()->forgetOwnHeadClasses();
    emit m_workspace->model()->replaced();
}

void Opener::close()
{
    m_newest.reset();
    m_job.cancel();
    auto last = m_workspace->model()->clear();
    forgetQuestion();
    m_workspace->session()->forget();
    m_workspace->notebook()->revision().forget();
    emit m_workspace->model()->closed();
    detail::jobPool().start([last = std::move(last)]() mutable {
        last.reset();
        returnFreedMemory();
    });
}

} // namespace headwise::ui
