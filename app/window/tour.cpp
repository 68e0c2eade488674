#include "app/window/tour.h"

#include "app/demo.h"
#include "app/window/pages.h"
#include "app/window/window_settings.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/parts/page.h"

#include <QEvent>
#include <QFrame>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QStatusBar>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace headwise::app {

using namespace headwise::ui;

namespace {

constexpr int tourWidth = 380;     // px
constexpr int tourDistance = 16;   // px, from the window's edges
constexpr int outlineDistance = 2; // px, around the outlined part

struct TourStep {
    QString title;
    QString words;             // %1: the selected head
    QStringList pages;         // the first one there is; empty: the present one
    HeadId demoHead;           // selected if the model is the demo
    QStringList outlined = {}; // accessible or object names; the first visible one counts, else the page
};

std::vector<TourStep> tourSteps()
{
    const QStringList first{QStringLiteral("findings"), QStringLiteral("overview")};
    return {
        {Tour::tr("First page"),
         Tour::tr(
             "This page sums up what the weights say. Show opens the picture behind a statement, with its numbers."),
         first,
         {1, 5}},
        {Tour::tr("Grid of heads"),
         Tour::tr(
             "Every cell is a head; layer 0 is at the top. Click one to select it: every page shows that head, now %1."),
         first,
         {0, 1},
         {QStringLiteral("Heads"), QStringLiteral("heads")}},
        {Tour::tr("Tokens"),
         Tour::tr(
             "The tables show what %1 writes when it attends to a token. Type another token to look it up."),
         {QStringLiteral("tokens")},
         {1, 5},
         {QStringLiteral("token-tables")}},
        {Tour::tr("Position"),
         Tour::tr(
             "This page shows how far back %1 looks by position alone. A previous-token head has its peak one token back."),
         {QStringLiteral("position")},
         {0, 1}},
        {Tour::tr("Composition"),
         Tour::tr(
             "Later heads read what earlier heads write. This page shows which heads compose with %1 more than random weights would."),
         {QStringLiteral("composition")},
         {1, 5}},
        {Tour::tr("Notes and export"),
         Tour::tr(
             "Press N to write down what you find about %1. Notes and results are saved with the session. Ctrl+E exports a picture with its numbers."),
         first,
         {1, 5},
         {QStringLiteral("notes")}},
    };
}

/// A frame over the part that the tour is about. The mouse goes through it.
class TourOutline : public QWidget {
public:
    explicit TourOutline(QWidget* window)
        : QWidget(window)
    {
        setObjectName(QStringLiteral("tour-outline"));
        setAttribute(Qt::WA_TransparentForMouseEvents);
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        constexpr double width = 3;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(themeColors(palette()).accent, width));
        painter.drawRoundedRect(QRectF(rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2), 4, 4);
    }
};

bool isDemo(const Workspace& workspace)
{
    std::error_code none;
    return std::filesystem::equivalent(demoModelFolder().toStdString(),
                                       workspace.model()->files().source.path, none);
}

} // namespace

/// The panel with the words of a step and the buttons.
class TourPanel : public QFrame {
public:
    explicit TourPanel(QWidget* window)
        : QFrame(window)
        , title(new QLabel(this))
        , words(new QLabel(this))
        , count(new QLabel(this))
        , back(new QPushButton(Tour::tr("Back"), this))
        , next(new QPushButton(this))
        , skip(new QPushButton(Tour::tr("Skip"), this))
    {
        setObjectName(QStringLiteral("tour"));
        setAccessibleName(Tour::tr("Tour"));
        setProperty("card", true);
        setAutoFillBackground(true);
        makeHeading(title);
        makeSecondary(count);
        words->setWordWrap(true);
        auto* buttons = new QHBoxLayout;
        buttons->setSpacing(8);
        buttons->addWidget(count);
        buttons->addStretch();
        for (QPushButton* button : {skip, back, next}) {
            button->setAutoDefault(false);
            buttons->addWidget(button);
        }
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(12, 12, 12, 12);
        layout->setSpacing(8);
        layout->addWidget(title);
        layout->addWidget(words, 1);
        layout->addLayout(buttons);
    }

    QLabel *title, *words, *count;
    QPushButton *back, *next, *skip;
};

Tour::Tour(QMainWindow* window, Workspace* workspace, Pages* pages, WindowSettings* settings)
    : WindowPart(window, workspace)
    , m_pages(pages)
    , m_settings(settings)
{
    connect(workspace->model(), &OpenModel::closed, this, &Tour::leave);
    connect(workspace->opener(), &Opener::openFailed, this, [this] { m_isOffered = false; });
    connect(workspace->model(), &OpenModel::opened, this, [this] {
        if (std::exchange(m_isOffered, false))
            QTimer::singleShot(0, this, &Tour::start); // once the window shows the model
        else
            leave();
    });
}

void Tour::offer()
{
    m_isOffered = !m_settings->now().tourOffered;
}

void Tour::start()
{
    if (!m_workspace->model()->isOpen())
        return;
    leave();
    m_settings->keep([](Settings& settings) { settings.tourOffered = true; });
    m_outline = new TourOutline(m_window);
    m_panel = new TourPanel(m_window);
    connect(m_panel->back, &QPushButton::clicked, this, [this] { show(m_step - 1); });
    connect(m_panel->next, &QPushButton::clicked, this, [this] { show(m_step + 1); });
    connect(m_panel->skip, &QPushButton::clicked, this, &Tour::leave);
    for (QWidget* part :
         std::initializer_list<QWidget*>{m_panel, m_panel->back, m_panel->next, m_panel->skip})
        part->installEventFilter(this);
    m_window->installEventFilter(this);
    show(0);
}

bool Tour::leave()
{
    if (!m_panel)
        return false;
    outline(nullptr);
    m_window->removeEventFilter(this);
    const bool hadFocus = m_panel->isAncestorOf(m_window->focusWidget());
    for (QWidget* part :
         {std::exchange(m_outline, nullptr), static_cast<QWidget*>(std::exchange(m_panel, nullptr))}) {
        part->hide();
        part->deleteLater(); // its button may be the caller
    }
    if (hadFocus)
        m_pages->currentPage()->setFocus();
    return true;
}

void Tour::show(int step)
{
    const std::vector<TourStep> steps = tourSteps();
    if (step >= std::ssize(steps))
        return void(leave());
    m_step = std::max(0, step);
    const TourStep& now = steps[static_cast<std::size_t>(m_step)];
    if (isDemo(*m_workspace))
        m_workspace->selection()->setHead(now.demoHead);
    showPage(now.pages);
    const QString head = text(m_workspace->selection()->head());
    m_panel->title->setText(now.title);
    m_panel->words->setText(QString(now.words).replace(QStringLiteral("%1"), head));
    m_panel->count->setText(tr("%1 of %2").arg(m_step + 1).arg(steps.size()));
    const bool isLast = m_step + 1 == std::ssize(steps);
    m_panel->next->setText(isLast ? tr("Done") : tr("Next"));
    m_panel->back->setEnabled(m_step > 0);
    m_panel->skip->setVisible(!isLast);
    outline(partNamed(now.outlined));
    for (QWidget* part : {m_outline, static_cast<QWidget*>(m_panel)}) {
        part->show();
        part->raise();
    }
    m_panel->next->setFocus();
    place();
}

void Tour::showPage(const QStringList& names)
{
    const auto there = std::ranges::find_if(
        names, [this](const QString& name) { return m_pages->pageNames().contains(name); });
    if (there != names.end())
        m_pages->showPage(*there);
}

QWidget* Tour::partNamed(const QStringList& names) const
{
    const QList<QWidget*> all = m_window->findChildren<QWidget*>();
    for (const QString& name : names)
        for (QWidget* part : all)
            if (part->isVisible() && (part->accessibleName() == name || part->objectName() == name))
                return part;
    return m_pages->currentPage();
}

void Tour::outline(QWidget* part)
{
    for (const QPointer<QWidget>& watched : std::exchange(m_watched, {}))
        if (watched)
            watched->removeEventFilter(this);
    m_part = part;
    for (QWidget* holder = part; holder && holder != m_window; holder = holder->parentWidget()) {
        holder->installEventFilter(this);
        m_watched << holder;
    }
}

void Tour::place()
{
    if (!m_panel)
        return; // the tour ended before an event had its effect
    const int width = std::min(tourWidth, m_window->width() - 2 * tourDistance);
    const int height = m_panel->layout()->totalHeightForWidth(width);
    const int bottom = m_window->height() - m_window->statusBar()->height();
    const QRect left(tourDistance, bottom - height - tourDistance, width, height);
    m_panel->setGeometry(left);
    if (!m_part || !m_part->isVisible())
        return m_outline->hide();
    // Only what can be seen of a page that is scrolled.
    QRect seen(m_part->mapTo(m_window, QPoint()), m_part->size());
    for (const QWidget* holder = m_part->parentWidget(); holder && holder != m_window;
         holder = holder->parentWidget())
        seen &= QRect(holder->mapTo(m_window, QPoint()), holder->size());
    m_outline->setGeometry(
        seen.adjusted(-outlineDistance, -outlineDistance, outlineDistance, outlineDistance));
    m_outline->show();
    // The corner in which the panel covers less of the outlined part.
    const QRect right = left.translated(m_window->width() - width - 2 * tourDistance, 0);
    const auto covered = [&](const QRect& place) {
        const QRect common = place & m_outline->geometry();
        return common.isEmpty() ? 0 : common.width() * common.height();
    };
    if (covered(right) < covered(left))
        m_panel->setGeometry(right);
}

bool Tour::eventFilter(QObject* watched, QEvent* event)
{
    if (!m_panel)
        return WindowPart::eventFilter(watched, event);
    const auto* widget = qobject_cast<QWidget*>(watched);
    const bool isPanel = widget == m_panel || m_panel->isAncestorOf(widget);
    if (!isPanel
        && (event->type() == QEvent::Resize || event->type() == QEvent::Move || event->type() == QEvent::Show
            || event->type() == QEvent::Hide))
        QTimer::singleShot(0, m_panel, [this] { place(); }); // once the event has had its effect
    if (!isPanel || event->type() != QEvent::KeyPress)
        return WindowPart::eventFilter(watched, event);
    switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Left: show(m_step - 1); return true;
    case Qt::Key_Right: show(m_step + 1); return true;
    case Qt::Key_Escape: leave(); return true;
    default: return WindowPart::eventFilter(watched, event);
    }
}

} // namespace headwise::app
