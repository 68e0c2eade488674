#include "app/window/menus.h"

#include "app/window/about_dialog.h"
#include "app/window/actions.h"
#include "app/window/addresses.h"
#include "app/window/docks.h"
#include "app/window/figure_commands.h"
#include "app/window/head_change_menu.h"
#include "app/window/help_dialog.h"
#include "app/window/navigation.h"
#include "app/window/opening.h"
#include "app/window/pages.h"
#include "app/window/saving.h"
#include "app/window/tour.h"
#include "app/window/window_settings.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/note_history.h"
#include "ui/document/questions.h"
#include "ui/document/workspace.h"
#include "ui/heatmaps/color_vision_effect.h"
#include "ui/pages/analyses/analysis_list.h"
#include "ui/pages/export/panels_menu.h"
#include "ui/widgets/command_palette.h"

#include <QActionGroup>
#include <QCoreApplication>
#include <QLabel>
#include <QMainWindow>
#include <QMenu>
#include <QStatusBar>
#include <QWhatsThis>

#include <map>

namespace headwise::app {

using namespace headwise::ui;

namespace {

bool hasReference(const Workspace& workspace)
{
    return workspace.model()->isOpen() && workspace.selection()->reference();
}

bool hasUnknownConfig(const Workspace& workspace)
{
    const auto weights = workspace.model()->weights();
    return weights && !weights->config().unknown.empty();
}

template <typename Part, typename... Arguments>
std::function<void()> call(Part* part, void (Part::*command)(Arguments...),
                           std::type_identity_t<Arguments>... arguments)
{
    return [=] { (part->*command)(arguments...); };
}

/// Makes the menus, one after the other.
class MenuBuilder : MenuTargets {
    Q_DECLARE_TR_FUNCTIONS(headwise::app::Menus)

public:
    explicit MenuBuilder(const MenuTargets& targets)
        : MenuTargets(targets)
    {
    }

    std::vector<ActionRow> rowsOfOpening();
    void addFile();
    void addEdit();
    void addGo();
    void addView();
    void addModel();
    void addAnalyses();
    void addHelp();

private:
    PanelsMenu* panelsMenu() const;
    void addRecent(QMenu* file);
    void addStacks(QMenu* file);
    void addVisions(QMenu* menu);
    ActionRow analysisRow(const char* id, const QString& title, const Analysis& analysis) const;
};

PanelsMenu* MenuBuilder::panelsMenu() const
{
    auto* menu = new PanelsMenu(
        workspace, [from = settings] { return from->exportFolder(); }, window);
    QObject::connect(menu, &PanelsMenu::exported, figures,
                     [to = figures, in = settings](const QString& exported) {
                         in->keepFolderOf(exported);
                         to->showMessage(tr("Exported %1").arg(exported));
                     });
    QObject::connect(menu, &PanelsMenu::failed, figures, [to = figures](const QString& message) {
        to->showError(tr("Cannot draw the panels"), message);
    });
    return menu;
}

std::vector<ActionRow> MenuBuilder::rowsOfOpening()
{
    return {
        {"open-folder", tr("&Open model folder…"), call(opening, &Opening::chooseFolder), QKeySequence::Open,
         "open", always},
        {"open-file", tr("Open &file or session…"), call(opening, &Opening::chooseFile), "Ctrl+Shift+O",
         "table", always},
        {"open-adapter", tr("Open adapter…"), call(opening, &Opening::chooseAdapter), {}, nullptr, always},
        {"open-series", tr("Open series…"), call(opening, &Opening::chooseSeries), {}, nullptr, always},
        {"open-series-folder",
         tr("Open series folder…"),
         call(opening, &Opening::chooseSeriesFolder),
         {},
         nullptr,
         always},
        {"open-cache",
         tr("Ope&n from cache…"),
         call(opening, &Opening::chooseFromCache),
         {},
         nullptr,
         always},
    };
}

void MenuBuilder::addFile()
{
    QMenu* file = actions->addMenu(tr("&File"));
    PanelsMenu* panels = panelsMenu();
    const auto openDemo = [from = opening, guide = tour] {
        guide->offer();
        from->openDemo();
    };
    const std::vector<ActionRow> second{
        {"open-demo", tr("Open &demo"), openDemo, {}, "play", always},
        {"compare", tr("Com&pare with…"), call(opening, &Opening::chooseComparison), "Ctrl+Shift+D"},
        {"compare-file", tr("Compare with a f&ile…"), call(opening, &Opening::chooseComparisonFile)},
        {"locate", tr("&Locate model…"), call(opening, &Opening::locateModel), {}, "link"},
        {"locate-file", tr("Locate &model file…"), call(opening, &Opening::locateModelFile)},
        {"complete-config",
         tr("Comple&te config…"),
         call(workspace->opener(), &Opener::completeConfig),
         {},
         nullptr,
         hasUnknownConfig},
        {},
        {"save", tr("&Save session"), call(saving, &Saving::save), QKeySequence::Save, "save"},
        {"save-as", tr("Save session &as…"), call(saving, &Saving::saveAs), "Ctrl+Shift+S"},
        {},
        {"export-figure", tr("&Export figure…"), call(figures, &FigureCommands::exportFigure), "Ctrl+E",
         "export", whileOpen,
         tr("Export figure (Ctrl+E), or hold Ctrl and drag the picture into another program")},
        {"export-again", tr("Export a&gain"), call(figures, &FigureCommands::exportAgain), "Ctrl+Shift+E"},
        {"export-heads", tr("Export all &heads…"), call(figures, &FigureCommands::exportHeads)},
        {"export-panels", tr("Export panels…"), call(panels, &PanelsMenu::chooseDescription)},
        {},
        {"reload", tr("&Reload"), call(opening, &Opening::reload), "F5", "reload"},
        {"close", tr("&Close"), call(opening, &Opening::closeModel), QKeySequence::Close},
        {},
        // Closes all windows. Qt has a standard key for it on a few desktops alone.
        {"quit", tr("&Quit"), {}, "Ctrl+Q", nullptr, always},
    };
    actions->add(file, rowsOfOpening());
    addRecent(file);
    addStacks(file);
    actions->add(file, second);
    const QList<QAction*> all = file->actions();
    file->insertMenu(all.value(all.indexOf(actions->find("export-panels")) + 1), panels);
}

void MenuBuilder::addRecent(QMenu* file)
{
    QMenu* recent = file->addMenu(tr("Open &recent"));
    const auto fill = [recent, from = settings, to = opening] {
        recent->clear();
        for (const QString& path : from->now().recentFiles)
            recent->addAction(path, to, [to, path] { to->openPath(path); });
        recent->setEnabled(!recent->isEmpty());
    };
    QObject::connect(settings, &WindowSettings::recentChanged, recent, fill);
    fill();
}

/// Offers the stacks of an encoder-decoder, or of a model of text and images. The open one is ticked.
void MenuBuilder::addStacks(QMenu* file)
{
    QMenu* stacks = file->addMenu(tr("Stac&k"));
    const auto fill = [stacks, of = workspace->model(), to = opening] {
        stacks->clear();
        const auto weights = of->weights();
        stacks->setEnabled(weights && !weights->config().stacks.empty());
        if (!weights)
            return;
        const std::vector<std::string>& names = weights->config().stacks;
        for (std::size_t i = 0; i < names.size(); ++i) {
            QAction* choice =
                stacks->addAction(text(names[i]), to, [to, name = text(names[i])] { to->openStack(name); });
            choice->setCheckable(true);
            choice->setChecked(i == 0);
            choice->setEnabled(i > 0);
        }
    };
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::closed})
        QObject::connect(workspace->model(), signal, stacks, fill);
    fill();
}

void MenuBuilder::addEdit()
{
    QMenu* edit = actions->addMenu(tr("&Edit"));
    QUndoStack* history = workspace->notebook()->history();
    QAction* undo = history->createUndoAction(edit, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    QAction* redo = history->createRedoAction(edit, tr("&Redo"));
    QList<QKeySequence> again = QKeySequence::keyBindings(QKeySequence::Redo); // another on every desktop
    if (const QKeySequence everywhere(tr("Ctrl+Shift+Z")); !again.contains(everywhere))
        again << everywhere;
    redo->setShortcuts(again);
    edit->addActions({undo, redo});
    const auto findCommand = [to = navigation, from = actions] { to->offer(from->commands()); };
    actions->add(
        edit,
        {
            {},
            {"bookmark", tr("Book&mark this head"), call(navigation, &Navigation::toggleBookmark), "Ctrl+D",
             "bookmark"},
            // A text field takes the letter first.
            {"note", tr("&Note on this head"), call(docks, &Docks::writeNote), "Ctrl+Shift+N; N", "note"},
            {"copy-reference", tr("Copy &address of this view"), call(addresses, &Addresses::copyReference),
             "Ctrl+Shift+C", "copy"},
            {},
            {"find-command", tr("&Find a command…"), findCommand, "Ctrl+K", "search", always},
            {},
            {"preferences", tr("&Preferences…"), call(settings, &WindowSettings::showPreferences), "Ctrl+,",
             "settings", always},
        });
}

void MenuBuilder::addGo()
{
    const auto escape = [from = navigation, guide = tour] {
        if (!guide->leave())
            from->escape();
    };
    actions->add(
        actions->addMenu(tr("&Go")),
        {
            {"back", tr("&Back"), call(workspace->selection(), &Selection::goBack), "Alt+Left", "back"},
            {"forward", tr("&Forward"), call(workspace->selection(), &Selection::goForward), "Alt+Right",
             "forward"},
            {"escape", tr("&Return from a jump"), escape, "Esc"},
            {},
            {"go-to-head", tr("&Go to head…"), call(navigation, &Navigation::goToHead), "Ctrl+L"},
            {"find-token", tr("&Find a token…"), call(navigation, &Navigation::findToken), QKeySequence::Find,
             "search"},
            {},
            {"next-head", tr("&Next head"), call(navigation, &Navigation::moveHead, 0, 1), "Ctrl+Right"},
            {"previous-head", tr("&Previous head"), call(navigation, &Navigation::moveHead, 0, -1),
             "Ctrl+Left"},
            {"next-layer", tr("Next &layer"), call(navigation, &Navigation::moveHead, 1, 0), "Ctrl+Down"},
            {"previous-layer", tr("Previous l&ayer"), call(navigation, &Navigation::moveHead, -1, 0),
             "Ctrl+Up"},
            {},
            {"next-pane", tr("Next &pane"), call(navigation, &Navigation::goToPane, 1), "F6"},
            {"previous-pane", tr("Previous pan&e"), call(navigation, &Navigation::goToPane, -1), "Shift+F6"},
        });
}

void MenuBuilder::addView()
{
    QMenu* view = actions->addMenu(tr("&View"));
    std::map<QString, QMenu*> groups{{QString(), view}};
    for (int i = 0; i < pages->count(); ++i) {
        QMenu*& group = groups[pages->heading(i)];
        if (!group)
            group = view->addMenu(pages->heading(i));
        const QString name = pages->pageName(i);
        const QByteArray digit = pages->digitOf(i);
        const QByteArray keys = name == QLatin1String("findings") ? QByteArray("Alt+Home")
            : digit.isEmpty()                                     ? digit
                              : QByteArray("Alt+%1; %1").replace("%1", digit);
        actions->addRow(group,
                        {("page-" + name.toLatin1()).constData(), pages->tabText(i),
                         call(pages, &Pages::showPage, name), keys.constData()});
    }
    view->addSeparator();
    view->addActions(docks->toggles());
    actions->add(view, {{"reset-layout", tr("&Reset the layout"), call(docks, &Docks::reset)}, {}});
    settings->addThemes(view);
    addVisions(view->addMenu(tr("Simulate &colour blindness")));
    QAction* full = actions->addRow(view, {"full-screen", tr("F&ull screen"), {}, "F11", nullptr, always});
    full->setCheckable(true);
    QObject::connect(full, &QAction::triggered, window, [top = window](bool on) {
        top->setWindowState(top->windowState().setFlag(Qt::WindowFullScreen, on));
    });
}

/// Shows the pictures as other eyes see them. The status bar says so.
void MenuBuilder::addVisions(QMenu* menu)
{
    auto* note = new QLabel(window->statusBar());
    note->setMinimumWidth(1);
    makeSecondary(note);
    note->hide();
    window->statusBar()->addPermanentWidget(note);
    auto* group = new QActionGroup(menu);
    const auto add = [&](ColorVision vision, const QString& name) {
        QAction* choice = menu->addAction(name, menu, [vision] { ShownVision::instance().set(vision); });
        choice->setCheckable(true);
        group->addAction(choice);
        const auto follow = [vision, choice, note, name](ColorVision shown) {
            if (shown != vision)
                return;
            choice->setChecked(true);
            note->setText(tr("as seen with %1").arg(name.toLower()));
            note->setVisible(shown != ColorVision::Normal);
        };
        QObject::connect(&ShownVision::instance(), &ShownVision::changed, choice, follow);
        follow(ShownVision::instance().vision());
    };
    add(ColorVision::Normal, tr("Normal colour vision"));
    add(ColorVision::Deuteranopia, tr("Deuteranopia"));
    add(ColorVision::Protanopia, tr("Protanopia"));
    add(ColorVision::Tritanopia, tr("Tritanopia"));
}

void MenuBuilder::addModel()
{
    QMenu* model = actions->addMenu(tr("&Model"));
    const auto useHead = [of = workspace->selection()] { of->setReference(of->head()); };
    const auto clearHead = [of = workspace->selection()] { of->setReference({}); };
    actions->add(
        model,
        {
            {"model-card", tr("&Model card"), call(pages, &Pages::showPage, QStringLiteral("model"))},
            {"tensors", tr("&Tensors of the file"), call(pages, &Pages::showPage, QStringLiteral("tensors"))},
            {"folding", tr("&Folding effects"), call(pages, &Pages::runAnalysis, "folding")},
            {"skipless", tr("&Skipless merge"), call(pages, &Pages::runAnalysis, "skipless")},
            {},
            {.id = "set-reference",
             .text = tr("Use as &reference head"),
             .run = useHead,
             .toolTip = tr("Compares other heads with the selected one")},
            {.id = "clear-reference",
             .text = tr("&Clear reference"),
             .run = clearHead,
             .isEnabled = hasReference},
            {},
        });
    fillHeadChangeMenu(
        *model->addMenu(tr("&This head changed")), *workspace,
        [from = saving](const std::function<void()>& next) { from->whenResultsAreSafe(next); });
    actions->addRow(model, {"add-tokenizer", tr("Add to&kenizer…"), call(opening, &Opening::addTokenizer)});
}

ActionRow MenuBuilder::analysisRow(const char* id, const QString& title, const Analysis& analysis) const
{
    QStringList tip{explainedNumber(analysis), text(analysis.formula)};
    tip.removeAll(QString());
    return {.id = id,
            .text = title,
            .run = call(pages, &Pages::runAnalysis, analysis.id),
            .toolTip = tip.join(u'\n')};
}

void MenuBuilder::addAnalyses()
{
    QMenu* analyses = actions->addMenu(tr("&Analyses"));
    analyses->setToolTipsVisible(true);
    // The most-used analysis, at the top level.
    actions->add(analyses,
                 {analysisRow("induction", tr("&Induction finder"), *findAnalysis("induction")), {}});
    for (const auto& [title, rows] : analysesByQuestion()) {
        QMenu* group = analyses->addMenu(title);
        group->setToolTipsVisible(true);
        const std::string panels = "panels-" + std::to_string(analyses->actions().size());
        actions->add(group,
                     {{.id = panels.c_str(),
                       .text = tr("&All panels"),
                       .run = call(pages, &Pages::showQuestion, title)},
                      {}});
        for (const Analysis* analysis : rows)
            actions->addRow(
                group,
                analysisRow(("run-" + std::string(analysis->id)).c_str(), text(analysis->title), *analysis));
    }
}

void MenuBuilder::addHelp()
{
    QMenu* help = actions->addMenu(tr("&Help"));
    const auto about = [top = window] {
        auto* dialog = new AboutDialog(top);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->open();
    };
    actions->addRow(help, {"help", tr("&Guide"), [top = window] { showHelp(top); }, "F1; ?", "help", always});
    actions->addRow(help, {"tour", tr("&Tour"), call(tour, &Tour::start)});
    QAction* whatsThis = QWhatsThis::createAction(help);
    whatsThis->setIcon({}); // Qt's is a picture of a black cursor.
    help->addAction(whatsThis);
    actions->addRow(help, {"about", tr("&About Headwise"), about, {}, nullptr, always});
}

} // namespace

void fillMenus(const MenuTargets& targets)
{
    MenuBuilder builder(targets);
    builder.addFile();
    builder.addEdit();
    builder.addGo();
    builder.addView();
    builder.addModel();
    builder.addAnalyses();
    builder.addHelp();
}

} // namespace headwise::app
