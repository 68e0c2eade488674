#include "app/commands/export/export_page.h"

#include "app/commands/export/page_pictures.h"
#include "app/window/addresses.h"
#include "app/window/pages.h"
#include "core/series/series_file.h"
#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/training_series.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/parts/figure_subject.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QThread>

#include <algorithm>

namespace headwise::app {
namespace {

using ui::text;

constexpr QSize pageSize(1360, 860);
constexpr int quietTime = 500, turn = 20; // ms

Error invalidChoice(const std::string& sentence)
{
    return {ErrorCode::InvalidArgument, sentence};
}

/// Waits until nothing has been computed for a while, as pages wait a moment before they begin.
Result<Done> settle(const Task& task)
{
    for (int quiet = 0; quiet < quietTime; quiet += turn) {
        if (task.cancelled())
            return stopped();
        QCoreApplication::processEvents(QEventLoop::AllEvents, turn);
        QThread::msleep(turn);
        if (!ui::JobBoard::instance().running().isEmpty())
            quiet = 0;
    }
    return Done{};
}

/// Reads a value as the page keeps that choice: as text, or as JSON of the same type. Errors: InvalidArgument.
Result<QJsonValue> choiceValue(const QString& name, const std::string& value, const QJsonValue& now)
{
    if (now.isString())
        return QJsonValue(text(value));
    const QByteArray list = '[' + QByteArray::fromStdString(value) + ']';
    const QJsonArray read = QJsonDocument::fromJson(list).array();
    if (read.size() != 1 || (!now.isNull() && read.first().type() != now.type()))
        return invalidChoice("--choice " + name.toStdString() + "=" + value + " is not "
                             + (now.isBool()         ? "true or false"
                                    : now.isDouble() ? "a number"
                                                     : "JSON like the page's own")
                             + ".");
    return read.first();
}

/// Errors: InvalidArgument for a choice that the page does not have, naming those it has.
Result<QJsonObject> choicesOf(const std::vector<std::string>& given, const QJsonObject& now)
{
    QJsonObject choices;
    for (const std::string& one : given) {
        const std::size_t equals = one.find('=');
        const QString name = text(one.substr(0, equals));
        if (equals == std::string::npos || !now.contains(name))
            return invalidChoice("--choice " + one + " is no choice of this page; it has "
                                 + now.keys().join(QStringLiteral(", ")).toStdString() + ".");
        const Result<QJsonValue> value = choiceValue(name, one.substr(equals + 1), now[name]);
        if (!value)
            return value.error();
        choices[name] = *value;
    }
    return choices;
}

/// A workspace and its pages without a window.
class PageStage {
public:
    explicit PageStage(const PagePicture& wanted)
        : m_wanted(wanted)
        , m_heads(&m_workspace)
        , m_pages(&m_workspace, &m_heads, nullptr)
        , m_name(QString::fromUtf8(wanted.page.data(), static_cast<qsizetype>(wanted.page.size())))
    {
        ui::TrainingSeries::of(&m_workspace); // listens while a series opens
        m_pages.resize(pageSize);
        m_heads.resize(pageSize);
    }

    Result<Done> open(const PageOptions& options, const Task& task);
    Result<Done> choose(const PageRequest& request);
    /// Errors: NotFound, with what the picture needs.
    Result<ui::FigureSource*> picture(const std::string& view);
    /// Errors: InvalidArgument for a choice in the boxes over the picture that it does not have.
    Result<Done> checkChoices(const PageRequest& request, const ui::FigureSource& picture) const;

private:
    bool isOfHeads() const { return m_pages.indexOfName(m_name) < 0; }
    ui::Page* page() { return isOfHeads() ? &m_heads : m_pages.page(m_pages.indexOfName(m_name)); }
    void listen(); ///< For what keeps the file from opening.
    Result<Done> chooseHeads(const PageRequest& request);
    Result<Done> chooseInBoxes(const PageRequest& request); ///< Over the picture of an analysis.
    Result<Done> chooseStep(std::optional<int> step);

    const PagePicture& m_wanted;
    ui::Workspace m_workspace;
    ui::HeadsPage m_heads;
    Pages m_pages;
    QString m_name;
    QString m_problem; ///< Why the file did not open.
};

void PageStage::listen()
{
    const ui::Opener* opener = m_workspace.opener();
    QObject::connect(opener, &ui::Opener::openFailed, &m_pages,
                     [this](const QString& message) { m_problem = message; });
    for (const auto question : {&ui::Opener::configMissing, &ui::Opener::tensorsUnknown})
        QObject::connect(
            opener, question, &m_pages,
            [this](const ModelSource&, const QStringList&, const QString& message) { m_problem = message; });
    QObject::connect(opener, &ui::Opener::baseMissing, &m_pages,
                     [this](const ModelSource&, const QString& message) { m_problem = message; });
}

Result<Done> PageStage::open(const PageOptions& options, const Task& task)
{
    listen();
    ui::Opener* opener = m_workspace.opener();
    const std::filesystem::path file = options.model.path;
    if (isSessionFile(file))
        opener->openSession(file);
    else if (isSeries(file))
        opener->openSeries(file);
    else if (const Result<ModelSource> source = options.model.source(); source)
        opener->openModel(*source);
    else
        return source.error();
    if (const Result<Done> opened = settle(task); !opened)
        return opened;
    if (m_problem.isEmpty() && !options.model.tokenizerFile.empty()) {
        opener->addTokenizer(options.model.tokenizerFile);
        if (const Result<Done> added = settle(task); !added)
            return added;
    }
    if (!m_problem.isEmpty())
        return Error{ErrorCode::NotFound, m_problem.toStdString()};
    if (!m_workspace.model()->isOpen())
        return Error{ErrorCode::NotFound, "'" + options.model.path + "' could not be opened."};
    const QByteArray view = m_workspace.session()->view().toUtf8();
    if (!view.isEmpty())
        m_pages.restore(QJsonDocument::fromJson(view).object());
    return Done{};
}

Result<Done> PageStage::chooseHeads(const PageRequest& request)
{
    std::optional<HeadId> reference;
    if (const std::string& named = request.options.reference;
        !named.empty() && !(reference = parseHeadId(named)))
        return invalidChoice("'" + named + "' is not a head like 5.1 or L5H1.");
    const ModelCard& card = m_workspace.model()->card();
    for (const std::optional<HeadId>& head : {request.head, reference})
        if (head && (head->layer >= card.nLayers || head->head >= card.nHeads))
            return invalidChoice("The model has no head " + dottedHead(*head) + "; its heads are 0.0 to "
                                 + dottedHead({card.nLayers - 1, card.nHeads - 1}) + ".");
    if (request.head)
        m_workspace.selection()->askForHead(*request.head);
    if (reference)
        m_workspace.selection()->setReference(reference);
    return Done{};
}

Result<Done> PageStage::chooseStep(std::optional<int> step)
{
    if (!step)
        return Done{};
    if (!ui::TrainingSeries::isOpenIn(m_workspace))
        return invalidChoice("--step needs a series; this file has no steps.");
    ui::TrainingSeries* series = ui::TrainingSeries::of(&m_workspace);
    const auto& steps = series->series().steps;
    const auto found = std::ranges::find(steps, *step);
    if (found == steps.end())
        return invalidChoice("The series has no step " + std::to_string(*step) + ".");
    series->setStep(static_cast<int>(found - steps.begin()));
    return Done{};
}

Result<Done> PageStage::choose(const PageRequest& request)
{
    if (const Result<Done> chosen = chooseHeads(request); !chosen)
        return chosen;
    if (const Result<Done> chosen = chooseStep(request.step); !chosen)
        return chosen;
    if (const std::string& shown = request.options.token; !shown.empty()) {
        const Result<int> token = tokenNamed(*m_workspace.model(), shown);
        if (!token)
            return token.error();
        m_workspace.selection()->setToken(*token);
    }
    if (!m_wanted.analysis.empty())
        return chooseInBoxes(request);
    const QJsonObject now = page()->viewState();
    const Result<QJsonObject> choices = choicesOf(request.options.choices, now);
    if (!choices)
        return choices.error();
    if (isOfHeads()) {
        QJsonObject state = now;
        for (auto choice = choices->begin(); choice != choices->end(); ++choice)
            state[choice.key()] = choice.value();
        m_heads.setViewState(state);
        m_heads.show();
        return Done{};
    }
    m_pages.showOn(m_name, *choices);
    m_pages.show();
    return Done{};
}

Result<Done> PageStage::chooseInBoxes(const PageRequest& request)
{
    QJsonObject chosen;
    for (const std::string& one : request.options.choices) {
        const std::size_t equals = std::min(one.find('='), one.size());
        const std::string value = one.substr(std::min(equals + 1, one.size()));
        const QJsonArray read = QJsonDocument::fromJson('[' + QByteArray::fromStdString(value) + ']').array();
        chosen[text(one.substr(0, equals))] = read.size() == 1 ? read.first() : QJsonValue(text(value));
    }
    QJsonObject choice{{QStringLiteral("pictures"), QJsonObject{{text(request.view), chosen}}}};
    if (m_pages.indexOfName(m_name) == m_pages.indexOfName(QStringLiteral("analyses")))
        choice[QStringLiteral("analysis")] = text(std::string(m_wanted.analysis));
    m_pages.showOn(m_name, choice);
    m_pages.show();
    return Done{};
}

Result<Done> PageStage::checkChoices(const PageRequest& request, const ui::FigureSource& picture) const
{
    if (m_wanted.analysis.empty())
        return Done{};
    const QStringList taken = ui::figureChoices(picture);
    for (const std::string& choice : request.options.choices)
        if (!taken.contains(text(choice)))
            return invalidChoice(
                "'" + request.view + "' cannot have --choice " + choice
                + "; \"Copy command\" in the window's menu of the picture says what it can have.");
    return Done{};
}

Result<ui::FigureSource*> PageStage::picture(const std::string& view)
{
    const QList<ui::FigureSource*> figures = page()->figures();
    const auto found = std::ranges::find_if(figures, [&view](const ui::FigureSource* figure) {
        return ui::figureViewName(*figure).toStdString() == view;
    });
    if (found != figures.end())
        return *found;
    QStringList shown;
    for (const ui::FigureSource* figure : figures)
        if (const QString name = ui::figureViewName(*figure); !name.isEmpty())
            shown << name;
    return Error{ErrorCode::NotFound,
                 "'" + view + "' is empty here; it needs " + std::string(m_wanted.needs) + ". "
                     + (shown.isEmpty()
                            ? "The page shows no picture."
                            : "The page shows '" + shown.join(QStringLiteral("', '")).toStdString() + "'.")};
}

} // namespace

Result<std::vector<std::string>> exportPagePicture(const PageRequest& request,
                                                   std::span<const FigureFile> files, const Task& task)
{
    std::optional<PagePicture> wanted = pictureWithChoices(request.view);
    if (const PagePicture* ofPage = findPagePicture(request.view))
        wanted = *ofPage;
    if (!wanted)
        return invalidChoice("No page has a picture '" + request.view
                             + "'; headwise export --list names them.");
    if (wanted->ofHead && !request.head)
        return invalidChoice("The view '" + request.view
                             + "' shows one head; name it with --head LAYER.HEAD.");
    const DrawingProgram program;
    PageStage stage(*wanted);
    if (const Result<Done> opened = stage.open(request.options, task); !opened)
        return opened.error();
    if (const Result<Done> chosen = stage.choose(request); !chosen)
        return chosen.error();
    if (const Result<Done> settled = settle(task); !settled)
        return settled.error();
    const Result<ui::FigureSource*> picture = stage.picture(request.view);
    if (!picture)
        return picture.error();
    if (const Result<Done> checked = stage.checkChoices(request, **picture); !checked)
        return checked.error();
    return writeFigures(**picture, files);
}

} // namespace headwise::app
