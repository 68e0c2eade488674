#include "app/window/preferences_dialog.h"

#include "core/results/color_maps.h"
#include "ui/base/icons.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/color_bar.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFontDatabase>
#include <QFrame>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QThread>
#include <QToolButton>
#include <QVBoxLayout>

#include <array>

namespace headwise::app {

using namespace headwise::ui;

namespace {

constexpr int controlWidth = 260;
constexpr std::array autosaveMinutes{0, 1, 3, 5, 10, 30};
constexpr QSize swatchSize(64, 12);

QIcon swatch(ColorMap map, bool inverted)
{
    QImage image(256, 1, QImage::Format_RGB32);
    for (int i = 0; i < 256; ++i)
        image.setPixel(i, 0, colorTable(map)[static_cast<std::size_t>(inverted ? 255 - i : i)]);
    return QPixmap::fromImage(image.scaled(2 * swatchSize)); // sharp at twice the pixels, too
}

} // namespace

PreferencesDialog::PreferencesDialog(const Settings& settings, QWidget* parent)
    : QDialog(parent)
    , m_settings(settings)
{
    setWindowTitle(tr("Preferences"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(8);

    QVBoxLayout* looks = addSection(tr("Appearance"));
    addRow(looks, tr("Colours"), tr("Applies to the window. Exported figures always use the light theme."),
           themeChoice());
    addRow(looks, tr("Matrices"), tr("Default colour map for unsigned values."), sequentialChoice());
    addRow(looks, tr("Signed values"), tr("Default colour map for signed values: zero is neutral."),
           signedChoice());
    addRow(looks, tr("Tokens"), tr("Font for tokens, with fallbacks for every script."), fontChoice());
    QVBoxLayout* work = addSection(tr("Work"));
    addRow(work, tr("Recovery copy"),
           tr("How often Headwise saves a copy of unsaved changes, in case of a crash."), autosaveChoice());
    addRow(work, tr("Threads"), tr("Threads for analyses of all heads. Applies from the next analysis."),
           threadsChoice());
    QVBoxLayout* figures = addSection(tr("Figures"));
    addRow(figures, tr("Folder"), tr("Default folder for exports."), folderChoice());

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    layout->addSpacing(4);
    layout->addWidget(buttons);
    layout->setSizeConstraint(QLayout::SetFixedSize);
    for (auto* theme : findChildren<QToolButton*>())
        if (theme->isChecked())
            theme->setFocus(); // else the first has a frame, as if it were chosen
}

QVBoxLayout* PreferencesDialog::addSection(const QString& title)
{
    auto* heading = new QLabel(title, this);
    makeHeading(heading);
    auto* card = new QFrame(this);
    card->setProperty("card", true);
    auto* rows = new QVBoxLayout(card);
    rows->setContentsMargins(12, 12, 12, 12);
    rows->setSpacing(16);
    layout()->addWidget(heading);
    layout()->addWidget(card);
    return rows;
}

void PreferencesDialog::addRow(QVBoxLayout* section, const QString& name, const QString& meaning,
                               QWidget* control)
{
    auto* words = new QVBoxLayout;
    words->setSpacing(2);
    words->addStretch(); // beside a control of two rows
    auto* title = new QLabel(name, this);
    auto* secondary = new QLabel(meaning, this);
    makeSecondary(secondary);
    title->setBuddy(control);
    words->addWidget(title);
    words->addWidget(secondary);
    words->addStretch();
    control->setAccessibleName(name);
    control->setAccessibleDescription(meaning);
    control->setFixedWidth(controlWidth);
    auto* row = new QHBoxLayout;
    row->setSpacing(24);
    row->addLayout(words, 1);
    row->addWidget(control, 0, Qt::AlignVCenter);
    section->addLayout(row);
}

QWidget* PreferencesDialog::themeChoice()
{
    auto* box = new QWidget(this);
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setSpacing(4);
    auto* group = new QButtonGroup(box);
    const auto add = [&](ThemeMode mode, const QString& name, const char* iconName) {
        auto* button = new QToolButton(box);
        button->setText(name);
        button->setIcon(icon(iconName));
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        button->setCheckable(true);
        button->setProperty("segment", true);
        button->setChecked(mode == m_settings.theme);
        button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        group->addButton(button, static_cast<int>(mode));
        const int place = grid->count();
        grid->addWidget(button, place / 2, place % 2);
    };
    add(ThemeMode::System, tr("System"), "settings");
    add(ThemeMode::Light, tr("Light"), "light");
    add(ThemeMode::Dark, tr("Dark"), "dark");
    add(ThemeMode::HighContrast, tr("High contrast"), "contrast");
    connect(group, &QButtonGroup::idClicked, this, [this](int mode) {
        m_settings.theme = static_cast<ThemeMode>(mode);
        tell();
    });
    return box;
}

QWidget* PreferencesDialog::sequentialChoice()
{
    auto* box = new QComboBox(this);
    box->setIconSize(swatchSize);
    for (const ColorMap map : sequentialMaps)
        box->addItem(swatch(map, false), mapTitle(map), static_cast<int>(map));
    box->setCurrentIndex(box->findData(static_cast<int>(m_settings.colors.sequential)));
    connect(box, &QComboBox::activated, this, [this, box] {
        m_settings.colors.sequential = static_cast<ColorMap>(box->currentData().toInt());
        tell();
    });
    return box;
}

QWidget* PreferencesDialog::signedChoice()
{
    auto* box = new QComboBox(this);
    box->setIconSize(swatchSize);
    box->addItem(swatch(ColorMap::Signed, false), tr("Blue to red"));
    box->addItem(swatch(ColorMap::Signed, true), tr("Red to blue"));
    box->setCurrentIndex(m_settings.colors.redIsNegative ? 1 : 0);
    connect(box, &QComboBox::activated, this, [this](int index) {
        m_settings.colors.redIsNegative = index == 1;
        tell();
    });
    return box;
}

QWidget* PreferencesDialog::fontChoice()
{
    auto* box = new QComboBox(this);
    box->addItem(tr("Default"), QString());
    for (const QString& family : QFontDatabase::families())
        if (QFontDatabase::isFixedPitch(family) && !QFontDatabase::isPrivateFamily(family))
            box->addItem(family, family);
    box->setCurrentIndex(std::max(0, box->findData(m_settings.tokenFont)));
    connect(box, &QComboBox::activated, this, [this, box] {
        m_settings.tokenFont = box->currentData().toString();
        tell();
    });
    return box;
}

QWidget* PreferencesDialog::autosaveChoice()
{
    auto* box = new QComboBox(this);
    for (const int minutes : autosaveMinutes)
        box->addItem(minutes == 0       ? tr("never")
                         : minutes == 1 ? tr("every minute")
                                        : tr("every %1 minutes").arg(minutes),
                     minutes);
    int chosen = box->findData(qRound(m_settings.autosaveMinutes));
    if (chosen < 0) { // one that was written into the settings by hand
        box->addItem(tr("every %1 minutes").arg(m_settings.autosaveMinutes), m_settings.autosaveMinutes);
        chosen = box->count() - 1;
    }
    box->setCurrentIndex(chosen);
    connect(box, &QComboBox::activated, this, [this, box] {
        m_settings.autosaveMinutes = box->currentData().toDouble();
        tell();
    });
    return box;
}

QWidget* PreferencesDialog::threadsChoice()
{
    auto* box = new QComboBox(this);
    const int cores = QThread::idealThreadCount();
    box->addItem(tr("one per core (%1)").arg(cores), 0);
    for (int threads = 1; threads <= cores; ++threads)
        box->addItem(QString::number(threads), threads);
    if (box->findData(m_settings.threads) < 0) // of another machine, or written by hand
        box->addItem(QString::number(m_settings.threads), m_settings.threads);
    box->setCurrentIndex(box->findData(m_settings.threads));
    connect(box, &QComboBox::activated, this, [this, box] {
        m_settings.threads = box->currentData().toInt();
        tell();
    });
    return box;
}

QWidget* PreferencesDialog::folderChoice()
{
    auto* button = new QToolButton(this);
    button->setIcon(icon("folder"));
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    const auto show = [this, button] {
        const QString folder = m_settings.exportFolder;
        const QString shown = folder.isEmpty() ? tr("last folder used") : QDir::toNativeSeparators(folder);
        button->setText(button->fontMetrics().elidedText(shown, Qt::ElideMiddle, controlWidth - 48));
        button->setToolTip(shown);
    };
    show();
    connect(button, &QToolButton::clicked, this, [this, show] {
        m_settings.exportFolder = QFileDialog::getExistingDirectory(
            this, tr("Folder for figures; Cancel keeps the last folder used"), m_settings.exportFolder);
        show();
        tell();
    });
    return button;
}

} // namespace headwise::app
