// Pictures of the window for a person to look at: every page, the analyses asked for, the export dialog, the matrix of all tokens.
//
//     cmake --build build/release --target headwise_screenshots
//     build/release/tests/headwise_screenshots FOLDER [--theme light|dark] [--scale 1|2] [--size WIDTHxHEIGHT]
//         [--model MODEL] [--pages PAGE,PAGE|dialogs] [--analyses ID,ID|all]
//
// FOLDER is made if it is not there. MODEL is any model, the demo if none is named; L1H5 is selected if there is one. Pages are
// named as --goto names them; `dialogs` are the dialogs of the menus. Every picture ends with its theme and scale: FOLDER/matrix-dark-2x.png.

#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "ui/base/job.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/compared_model.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/limits_dialog.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pages/model/config_dialog.h"
#include "ui/pages/model/names_dialog.h"
#include "ui/pages/parts/page.h"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QCommandLineParser>
#include <QDir>
#include <QElapsedTimer>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <cstdio>

using namespace headwise;
using namespace headwise::ui;

namespace {

struct Wishes {
    QString folder;
    ThemeMode theme = ThemeMode::Light;
    QString scale = QStringLiteral("1");
    QSize size{1360, 860};
    QString model = QStringLiteral(HEADWISE_DEMO_MODEL);
    QStringList pages; // empty: all
    QStringList analyses{QStringLiteral("spectra"), QStringLiteral("composition"),
                         QStringLiteral("position_kernel"), QStringLiteral("direct_path"),
                         QStringLiteral("induction")};
};

[[noreturn]] void stop(const QString& message)
{
    std::fprintf(stderr, "headwise_screenshots: %s\n", qPrintable(message));
    std::exit(1);
}

/// Waits until nothing has been computed for a while, because pages start jobs after a pause and one answer may start the
/// next job.
void waitUntilQuiet()
{
    constexpr int quietEnough = 400, patience = 300'000; // ms
    QElapsedTimer quiet;
    quiet.start();
    const auto isQuiet = [&quiet] {
        if (!JobBoard::instance().running().isEmpty())
            quiet.restart();
        return quiet.elapsed() > quietEnough;
    };
    if (!QTest::qWaitFor(isQuiet, patience))
        stop(QStringLiteral("the window still computes after five minutes"));
}

/// The window, and the pictures of it.
class Sitting {
public:
    explicit Sitting(Wishes wishes)
        : m_wishes(std::move(wishes))
    {
        m_window.resize(m_wishes.size);
        m_window.show();
        take(QStringLiteral("start"));
        m_window.openPath(m_wishes.model);
        if (!QTest::qWaitFor([this] { return m_window.workspace()->model()->isOpen(); }, 60'000))
            stop(m_wishes.model + QStringLiteral(" does not open"));
        waitUntilQuiet();
        Workspace& workspace = *m_window.workspace();
        const ModelCard& card = workspace.model()->card();
        if (card.nLayers > 1 && card.nHeads > 5)
            workspace.selection()->setHead({1, 5});
        workspace.selection()->setReference(HeadId{0, 1});
        workspace.runs()->runAnalysis("relations");
        ComparedModel::of(&workspace)->compare({m_wishes.model.toStdString(), std::nullopt, {}});
        waitUntilQuiet();
    }

    void takePages()
    {
        if (m_wishes.pages == QStringList{QStringLiteral("dialogs")})
            return takeDialogs();
        const QStringList names = m_window.findChild<app::PageTabs*>()->pageNames();
        for (const QString& name : m_wishes.pages.isEmpty() ? names : m_wishes.pages) {
            if (!names.contains(name))
                stop(QStringLiteral("there is no page %1, but %2")
                         .arg(name, names.join(QStringLiteral(", "))));
            m_window.showPage(name);
            if (name == QLatin1String("prompt"))
                page()->findChild<QAbstractButton*>()->click();
            take(name);
            if (name == QLatin1String("matrix"))
                takeAllTokens();
            if (name == QLatin1String("analyses"))
                takeAnalyses();
            else if (!page()->figures().isEmpty())
                takeExport(name);
        }
    }

private:
    Page* page() { return m_window.findChild<app::PageTabs*>()->currentPage(); }

    void take(const QString& name, QWidget* widget = nullptr)
    {
        waitUntilQuiet();
        const QString theme =
            m_wishes.theme == ThemeMode::Dark ? QStringLiteral("dark") : QStringLiteral("light");
        const QString file =
            QStringLiteral("%1/%2-%3-%4x.png").arg(m_wishes.folder, name, theme, m_wishes.scale);
        if (!(widget ? widget : &m_window)->grab().save(file))
            stop(file + QStringLiteral(" cannot be written"));
        std::puts(qPrintable(file));
    }

    void trigger(const char* action)
    {
        for (QAction* one : m_window.findChildren<QAction*>())
            if (QString(one->text()).remove(u'&') == QString::fromUtf8(action))
                return one->trigger();
        stop(QStringLiteral("the menus have no ") + QString::fromUtf8(action));
    }

    void takeDialogs()
    {
        m_window.showPage(QStringLiteral("matrix"));
        waitUntilQuiet();
        for (const char* action : {"Preferences…", "Guide", "About Headwise", "Find a command…",
                                   "Export figure…", "Export all heads…", "Open from cache…"}) {
            trigger(action);
            takeOpenDialogs(QString::fromUtf8(action).remove(u'…').toLower().replace(u' ', u'-'));
        }
        trigger("Tour");
        for (int step = 1; step <= 6; ++step) {
            take(QStringLiteral("tour-%1").arg(step));
            for (auto* next : m_window.findChildren<QAbstractButton*>())
                if (next->text() == QStringLiteral("Next") && next->isVisible())
                    next->click();
        }
        takeDialogsAbout({m_wishes.model.toStdString(), std::nullopt, {}});
        takeQuestion();
    }

    /// Takes the question about unsaved results that opening another model asks.
    void takeQuestion()
    {
        QTimer::singleShot(1000, &m_window, [this] {
            if (QWidget* question = QApplication::activeModalWidget()) {
                take(QStringLiteral("dialog-not-saved"), question);
                question->close();
            }
        });
        m_window.openPath(m_wishes.model);
        waitUntilQuiet();
    }

    void takeOpenDialogs(const QString& name)
    {
        QTest::qWait(300);
        const auto dialogs = m_window.findChildren<QDialog*>();
        for (QDialog* dialog : dialogs)
            if (dialog->isVisible()) {
                take(QStringLiteral("dialog-") + name, dialog);
                dialog->close();
            }
    }

    /// Takes the dialogs that ask about a model.
    void takeDialogsAbout(const ModelSource& source)
    {
        LimitsDialog limits(-1.5F, 1.5F, &m_window);
        limits.show();
        takeOpenDialogs(QStringLiteral("limits"));
        ConfigDialog config(source, {QStringLiteral("n_layers"), QStringLiteral("n_heads")},
                            {QStringLiteral("norm_eps")}, QStringLiteral("No file states n_layers."),
                            &m_window);
        config.show();
        takeOpenDialogs(QStringLiteral("config"));
        auto file = WeightMap::open(source.path);
        if (!file)
            return;
        NamesDialog names(source, std::make_shared<const WeightMap>(std::move(file).value()), &m_window);
        names.show();
        takeOpenDialogs(QStringLiteral("names"));
    }

    void takeExport(const QString& name)
    {
        ExportDialog dialog(page()->figures().first(), {}, m_wishes.folder + QStringLiteral("/figure"),
                            &m_window);
        dialog.show();
        take(QStringLiteral("export-") + name, &dialog);
    }

    void choose(const QString& start)
    {
        for (auto* box : page()->findChildren<QComboBox*>())
            for (int i = 0; i < box->count(); ++i)
                if (box->itemText(i).startsWith(start))
                    return box->setCurrentIndex(i);
        stop(QStringLiteral("the page offers no ") + start);
    }

    /// Takes the big matrix: as a whole, with the norms beside it, close and closest.
    void takeAllTokens()
    {
        choose(QStringLiteral("full OV"));
        take(QStringLiteral("matrix-block"));
        choose(QStringLiteral("all tokens"));
        take(QStringLiteral("matrix-all"));
        auto* view = page()->findChild<HeatmapView*>();
        choose(QStringLiteral("mean"));
        view->content()->setNormBars(true);
        take(QStringLiteral("matrix-all-norms"));
        choose(QStringLiteral("strongest"));
        view->zoom()->setState({.zoomX = 30, .zoomY = 30, .centerX = 0.2, .centerY = 0.3});
        take(QStringLiteral("matrix-all-zoomed"));
        view->zoom()->setState({.zoomX = 140, .zoomY = 140, .centerX = 0.2, .centerY = 0.2});
        take(QStringLiteral("matrix-all-values"));
    }

    void takeAnalyses()
    {
        auto* analyses = dynamic_cast<ResultPage*>(page());
        for (const Analysis& analysis : catalogue()) {
            const QString id = text(analysis.id);
            if (!m_wishes.analyses.contains(QStringLiteral("all")) && !m_wishes.analyses.contains(id))
                continue;
            analyses->showAnalysis(analysis.id);
            analyses->run();
            const QString name = QStringLiteral("analysis-") + id;
            take(name);
            for (auto* button : analyses->findChildren<QAbstractButton*>())
                if (button->text() == QStringLiteral("Verify on random tokens") && button->isVisible()) {
                    button->click();
                    take(name + QStringLiteral("-verified"));
                }
            auto* bar = analyses->findChild<QScrollArea*>()->verticalScrollBar();
            for (int part = 2; part < 5 && bar->value() < bar->maximum(); ++part) {
                bar->setValue(bar->value() + bar->pageStep() - 40);
                take(QStringLiteral("%1-%2").arg(name).arg(part));
            }
        }
    }

    Wishes m_wishes;
    app::MainWindow m_window;
};

/// Parses the command line; exits if it is invalid.
Wishes wishesOf(const QStringList& arguments)
{
    QCommandLineParser parser;
    parser.addPositionalArgument(QStringLiteral("folder"), QStringLiteral("for the pictures"));
    for (const char* name : {"theme", "scale", "size", "model", "pages", "analyses"})
        parser.addOption({QLatin1String(name), QString(), QLatin1String(name)});
    if (!parser.parse(arguments))
        stop(parser.errorText());
    if (parser.positionalArguments().size() != 1)
        stop(QStringLiteral("name the folder for the pictures"));
    Wishes wishes;
    wishes.folder = parser.positionalArguments().first();
    if (!QDir().mkpath(wishes.folder))
        stop(wishes.folder + QStringLiteral(" cannot be made"));
    const auto given = [&parser](const char* name, const QString& otherwise) {
        return parser.isSet(QLatin1String(name)) ? parser.value(QLatin1String(name)) : otherwise;
    };
    const QString theme = given("theme", QStringLiteral("light"));
    if (theme != QLatin1String("light") && theme != QLatin1String("dark"))
        stop(QStringLiteral("--theme is light or dark"));
    wishes.theme = theme == QLatin1String("dark") ? ThemeMode::Dark : ThemeMode::Light;
    wishes.scale = given("scale", wishes.scale);
    if (wishes.scale != QLatin1String("1") && wishes.scale != QLatin1String("2"))
        stop(QStringLiteral("--scale is 1 or 2"));
    if (const QStringList sides = given("size", {}).split(u'x'); sides.size() == 2)
        wishes.size = {sides[0].toInt(), sides[1].toInt()};
    wishes.model = given("model", wishes.model);
    wishes.pages = given("pages", {}).split(u',', Qt::SkipEmptyParts);
    if (parser.isSet(QStringLiteral("analyses")))
        wishes.analyses = given("analyses", {}).split(u',', Qt::SkipEmptyParts);
    return wishes;
}

} // namespace

int main(int argc, char** argv)
{
    QStringList arguments;
    for (int i = 0; i < argc; ++i)
        arguments << QString::fromLocal8Bit(argv[i]);
    const Wishes wishes = wishesOf(arguments);
    const QTemporaryDir home; // its own settings, and no recent files
    for (const char* variable : {"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"})
        qputenv(variable, home.path().toLocal8Bit());
    qputenv("QT_SCALE_FACTOR", wishes.scale.toLatin1());
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    QCoreApplication::setOrganizationName(QStringLiteral("headwise"));
    QCoreApplication::setApplicationName(QStringLiteral("headwise"));
    QApplication application(argc, argv);
    applyTheme(application, wishes.theme);
    {
        Sitting sitting(wishes);
        sitting.takePages();
    }
    waitForJobs(std::chrono::minutes(1));
    return 0;
}
