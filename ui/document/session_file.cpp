#include "ui/document/session_file.h"

#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/imported_attention.h"
#include "ui/document/workspace.h"
#include "ui/figures/figure_export.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace headwise::ui {

namespace {

/// Returns the part of a path that arrays computed together share: "analyses/NAME", "spectra".
std::string_view groupOf(const std::string& path)
{
    const std::size_t first = path.find('/');
    const std::size_t last = path.starts_with("analyses/") ? path.find('/', first + 1) : first;
    return std::string_view(path).substr(0, last);
}

/// Adds pictures of the screen, in place of older ones of the same pages.
void putScreen(Session& session, std::vector<ScreenPicture> screen)
{
    std::erase_if(session.screen, [&screen](const ScreenPicture& old) {
        return std::ranges::find(screen, old.page, &ScreenPicture::page) != screen.end();
    });
    std::ranges::move(session.screen, std::back_inserter(screen));
    session.screen = std::move(screen);
}

/// Adds a figure, in place of that of the same name; one more than may be kept replaces another.
template <typename Figure>
void putKept(std::map<std::string, Figure>& all, const std::string& name, Figure figure)
{
    if (all.size() >= mostKeptFigures && !all.contains(name))
        all.erase(all.begin());
    all.insert_or_assign(name, std::move(figure));
}

} // namespace

SessionFile::SessionFile(Workspace* workspace)
    : m_workspace(workspace)
{
}

bool SessionFile::isReadOnly() const
{
    const auto session = m_workspace->model()->session();
    return session && (session->formatVersion > sessionFormatVersion || m_workspace->model()->isSeries());
}

bool SessionFile::isModified() const
{
    return m_workspace->notebook()->isUnsaved() || m_workspace->model()->revision().isUnsaved();
}

QString SessionFile::view() const
{
    const auto session = m_workspace->model()->session();
    return session ? text(session->view) : QString();
}

KeptFigures SessionFile::figures() const
{
    const auto session = m_workspace->model()->session();
    if (m_figures || !session)
        return m_figures.value_or(KeptFigures{});
    auto figures = parseKeptFigures(session->figures, "this session");
    return figures ? std::move(figures).value() : KeptFigures{};
}

void SessionFile::setFigures(KeptFigures figures)
{
    m_figures = std::move(figures);
    emit figuresChanged();
}

std::string SessionFile::figuresText() const
{
    const auto session = m_workspace->model()->session();
    return m_figures ? headwise::text(*m_figures) : session ? session->figures : std::string();
}

void SessionFile::keepFigure(const QString& name, FigureDescription figure)
{
    figure.session.clear(); // the one that keeps it
    KeptFigures all = figures();
    putKept(all.composed, name.toStdString(), std::move(figure));
    setFigures(std::move(all));
}

void SessionFile::keepSettings(const QString& title, const FigureSettings& settings)
{
    KeptFigures all = figures();
    putKept(all.views, title.toStdString(), text(settings).toStdString());
    setFigures(std::move(all));
}

std::optional<FigureSettings> SessionFile::settingsOf(const QString& title) const
{
    const KeptFigures all = figures();
    const auto found = all.views.find(title.toStdString());
    return found == all.views.end() ? std::nullopt : std::optional(parseFigureSettings(text(found->second)));
}

std::function<Session()> SessionFile::snapshot(const QString& view) const
{
    // Everything is held by pointer to const or by value: the window goes on while it is put together.
    const OpenModel* model = m_workspace->model();
    return [card = model->card(), circuits = model->circuits(), session = model->session(),
            results = model->results(), tokenizer = model->tokenizer(),
            embedding = std::string(embeddingName(model->embedding())),
            notebook = m_workspace->notebook()->contents(), source = model->files().source,
            imported = ImportedAttention::of(m_workspace)->array(), view = view.toStdString(),
            figures = figuresText()] {
        Session made =
            circuits ? makeSession(circuits->weights(), embedding, tokenizer.get(), *results) : *session;
        if (!circuits && tokenizer && made.tokens.empty()) {
            for (int id = 0; id < card.dVocab; ++id) {
                made.tokens.push_back(tokenizer->shown(id));
                made.tokenBytes.push_back(tokenizer->bytes(id));
            }
        }
        if (circuits && session && session->processing == made.processing
            && session->embedding == made.embedding)
            made.screen = session->screen;
        made.results = *results;
        ImportedAttention::putInto(made.results, imported);
        made.created = session ? session->created : std::string();
        made.part = session ? session->part : std::nullopt;
        made.notes = notebook.notes;
        made.bookmarks = notebook.bookmarks;
        made.view = view;
        made.figures = figures;
        if (made.model.source.empty())
            made.model.source = source.path.string();
        if (circuits)
            setConfigSource(made, source);
        return made;
    };
}

void SessionFile::save(const std::filesystem::path& file, const QString& view, IfChanged ifChanged)
{
    if (!m_workspace->model()->isOpen())
        return;
    if (isReadOnly())
        return emit failed(
            m_workspace->model()->isSeries()
                ? tr("A series is not a session, so nothing was saved. Open one of its checkpoints first.")
                : tr(
                    "This session was written by a newer Headwise and is open read-only; nothing was saved."));
    std::error_code code;
    const bool isOpenSession = file == m_path || std::filesystem::equivalent(file, m_path, code);
    const auto known = isOpenSession && ifChanged == IfChanged::Ask ? std::optional(m_stamp) : std::nullopt;
    Notebook* notebook = m_workspace->notebook();
    m_job.start(
        tr("Saving %1").arg(text(file.filename().string())),
        [file, session = snapshot(view), screen = m_screen ? m_screen() : Screen(),
         known](const Task& task) -> Result<FileStamp> {
            // Nobody is asked about a file that is gone: nothing can be lost.
            if (known && stampOf(file).exists() && stampOf(file) != *known)
                return FileStamp{};
            Session made = session();
            if (screen)
                putScreen(made, screen());
            if (const auto written = writeSession(file, made, task); !written)
                return written.error();
            return stampOf(file);
        },
        [this, file, opening = m_opening, notes = notebook->revision().made,
         results = m_workspace->model()->revision().made,
         contents = notebook->contents()](const Result<FileStamp>& result) {
            if (!result)
                return emit failed(text(result.error()));
            if (opening != m_opening) // Another model or session is open by now.
                return;
            if (!result->exists())
                return emit conflict(text(file.string()));
            m_path = file;
            m_stamp = *result;
            m_base = contents;
            m_workspace->notebook()->revision().keep(notes);
            m_workspace->model()->revision().keep(results);
            emit saved(text(file.string()));
        });
}

void SessionFile::merge()
{
    struct OnDisk {
        Session session;
        FileStamp stamp;
    };
    using Answer = std::shared_ptr<const OnDisk>;
    if (!m_workspace->model()->isOpen() || m_path.empty())
        return;
    m_job.start(
        tr("Reading %1").arg(text(m_path.filename().string())),
        [file = m_path](const Task& task) -> Result<Answer> {
            const FileStamp stamp = stampOf(file);
            auto session = readSession(file, task);
            if (!session)
                return session.error();
            return std::make_shared<const OnDisk>(OnDisk{std::move(session).value(), stamp});
        },
        [this, opening = m_opening](const Result<Answer>& result) {
            if (opening != m_opening)
                return;
            if (!result)
                return emit failed(text(result.error()));
            const Session& other = (*result)->session;
            if (other.model.sha256 != m_workspace->model()->card().sha256
                || other.formatVersion > sessionFormatVersion)
                return emit failed(
                    tr("%1 now holds a session of another model or of a newer Headwise. Nothing was merged. Use “Save session as…” and choose another name.")
                        .arg(text(m_path.string())));
            take(other, (*result)->stamp);
            emit merged();
        });
}

void SessionFile::take(const Session& other, const FileStamp& stamp)
{
    const NotebookContents base = std::exchange(m_base, NotebookContents{other.notes, other.bookmarks});
    m_stamp = stamp;
    m_workspace->notebook()->merge(base, m_base);
    if (auto theirs = parseKeptFigures(other.figures, "the file")) {
        KeptFigures all = figures();
        KeptFigures more = std::move(theirs).value();
        all.composed.merge(more.composed);
        all.views.merge(more.views);
        if (all != figures())
            setFigures(std::move(all));
    }
    OpenModel* model = m_workspace->model();
    if (other.processing != model->processing() || other.embedding != embeddingName(model->embedding()))
        return;
    const auto ours = model->results();
    ResultSet all = *ours;
    const auto has = [&ours](std::string_view folder) {
        return std::ranges::any_of(ours->arrays,
                                   [&](const ResultArray& array) { return groupOf(array.path) == folder; });
    };
    for (const ResultArray& array : other.results.arrays)
        if (!has(groupOf(array.path)))
            all.arrays.push_back(array);
    if (all.arrays.size() != ours->arrays.size())
        model->setResults(std::move(all));
}

void SessionFile::setOpened(const std::filesystem::path& path, const FileStamp& stamp, NotebookContents base)
{
    m_path = path;
    m_stamp = stamp;
    m_base = std::move(base);
    m_figures.reset();
    ++m_opening;
    emit figuresChanged();
}

void SessionFile::forget()
{
    setOpened({}, {}, {});
}

} // namespace headwise::ui
