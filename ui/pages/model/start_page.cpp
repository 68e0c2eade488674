#include "ui/pages/model/start_page.h"

#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/model/model_place.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace headwise::ui {

namespace {

constexpr int startPageColumnWidth = 560;
constexpr int dropHeight = 200;
constexpr int cardIndent = 5; // px from a tool button's frame and icon to its text

QString cardText(const RecentCard& card)
{
    return StartPage::tr("%1 × %2 heads · d_model %3 · %4 · opened %5")
        .arg(StartPage::tr("%n layer(s)", nullptr, card.layers)
                 .replace(QStringLiteral("(s)"), card.layers == 1 ? QString() : QStringLiteral("s")))
        .arg(card.heads)
        .arg(count(card.dModel), card.kind, QLocale().toString(card.opened, QStringLiteral("d MMM yyyy")));
}

QPushButton* bigButton(const QString& text, const char* iconName, QWidget* parent)
{
    auto* button = new QPushButton(icon(iconName), text, parent);
    button->setMinimumHeight(36);
    return button;
}

} // namespace

StartPage::StartPage(QWidget* parent)
    : QWidget(parent)
    , m_recent(new QVBoxLayout)
    , m_recentHeading(new QLabel(tr("Recent"), this))
    , m_error(new QLabel(this))
    , m_errorBox(new QWidget(this))
    , m_dropZone(new QWidget(this))
{
    auto* heading = new QLabel(tr("Circuits from weights"), this);
    makeHeading(heading);
    auto* explanation = new QLabel(
        tr("Open a transformer checkpoint. Headwise folds its weights, turns every attention head into its QK and OV circuits, and shows what each head reads and writes."),
        this);
    explanation->setWordWrap(true);
    makeSecondary(explanation);

    createDropZone();
    createError();
    m_recent->setSpacing(4);
    makeHeading(m_recentHeading);
    auto* column = new QVBoxLayout;
    column->setSpacing(12);
    column->addStretch(2);
    column->addWidget(heading);
    column->addWidget(explanation);
    column->addWidget(m_dropZone);
    column->addWidget(m_errorBox);
    column->addSpacing(8);
    column->addWidget(m_recentHeading);
    column->addLayout(m_recent);
    column->addStretch(3);
    auto* centred = new QHBoxLayout(this);
    centred->addStretch();
    auto* box = new QWidget(this);
    box->setLayout(column);
    box->setFixedWidth(startPageColumnWidth);
    centred->addWidget(box);
    centred->addStretch();

    setRecentFiles({});
}

void StartPage::createDropZone()
{
    auto* folder = bigButton(tr("Open a model folder…"), "open", m_dropZone);
    auto* file = bigButton(tr("Open a file or session…"), "table", m_dropZone);
    auto* demo = bigButton(tr("Open demo"), "play", m_dropZone);
    m_demoButton = demo;
    auto* hint = new QLabel(
        tr("Drop a model folder, a file (.safetensors, .gguf, .pt, .pth, .bin, .npz) or a session here"),
        m_dropZone);
    hint->setAlignment(Qt::AlignCenter);
    hint->setWordWrap(true);
    makeSecondary(hint);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addStretch();
    buttons->addWidget(folder);
    buttons->addWidget(file);
    buttons->addWidget(demo);
    buttons->addStretch();
    auto* zone = new QVBoxLayout(m_dropZone);
    zone->addStretch();
    zone->addWidget(hint);
    zone->addSpacing(16);
    zone->addLayout(buttons);
    zone->addStretch();
    m_dropZone->setFixedHeight(dropHeight);
    connect(folder, &QPushButton::clicked, this, &StartPage::openFolderRequested);
    connect(file, &QPushButton::clicked, this, &StartPage::openFileRequested);
    connect(demo, &QPushButton::clicked, this, &StartPage::openDemoRequested);
}

void StartPage::createError()
{
    m_error->setProperty("role", QStringLiteral("error")); // its colour in the theme's style sheet
    m_error->setWordWrap(true);
    m_error->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* copy = new QToolButton(m_errorBox);
    copy->setText(tr("Copy"));
    connect(copy, &QToolButton::clicked, this,
            [this] { QApplication::clipboard()->setText(m_error->text()); });
    auto* errorRow = new QHBoxLayout(m_errorBox);
    errorRow->setContentsMargins(0, 0, 0, 0);
    errorRow->addWidget(m_error, 1);
    errorRow->addWidget(copy, 0, Qt::AlignTop);
    m_errorBox->hide();
}

void StartPage::setRecentFiles(const QStringList& files, const QHash<QString, RecentCard>& cards)
{
    while (QLayoutItem* item = m_recent->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const QString& path : files) {
        const ModelPlace place = placeOf(path);
        const QFileInfo info(place.path);
        const QString name =
            place.stack.isEmpty() ? info.fileName() : tr("%1 (%2)").arg(info.fileName(), place.stack);
        auto* button = new QToolButton(this);
        button->setText(QStringLiteral("%1     %2").arg(name, QDir::toNativeSeparators(info.path())));
        button->setIcon(icon(info.isDir() ? "open" : "table"));
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        button->setAutoRaise(true);
        button->setToolTip(path);
        button->setMaximumWidth(startPageColumnWidth);
        button->setEnabled(info.exists());
        connect(button, &QToolButton::clicked, this, [this, path] { emit openRecentRequested(path); });
        m_recent->addWidget(button);
        if (const auto card = cards.constFind(path); card != cards.constEnd()) {
            const QString words = cardText(*card);
            auto* line = new QLabel(words, this);
            line->setIndent(button->iconSize().width() + cardIndent);
            makeSecondary(line);
            button->setAccessibleDescription(words);
            m_recent->addWidget(line);
        }
    }
    m_recentHeading->setVisible(!files.isEmpty());
}

void StartPage::setError(const QString& message)
{
    m_error->setText(message);
    m_errorBox->setVisible(!message.isEmpty());
}

void StartPage::setDemoAvailable(bool available)
{
    m_demoButton->setVisible(available);
}

void StartPage::setDropHovered(bool hovered)
{
    m_isDropHovered = hovered;
    update();
}

void StartPage::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const ThemeColors& colors = themeColors(palette());
    const QRectF zone(m_dropZone->mapTo(this, QPoint(0, 0)), QSizeF(m_dropZone->size()));
    painter.setBrush(colors.base);
    painter.setPen(m_isDropHovered ? QPen(colors.accent, 2) : QPen(colors.border, 1.5, Qt::DashLine));
    painter.drawRoundedRect(zone.adjusted(1, 1, -1, -1), 6, 6);
}

} // namespace headwise::ui
