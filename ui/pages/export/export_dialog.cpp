#include "ui/pages/export/export_dialog.h"

#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_formats.h"
#include "ui/figures/figure_writer.h"
#include "ui/pages/export/caption_editor.h"
#include "ui/pages/export/edits_editor.h"
#include "ui/pages/export/export_dialog_preview.h"
#include "ui/pages/export/figure_fit.h"
#include "ui/pages/export/figure_form.h"
#include "ui/pages/export/preset_menu.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/widgets/job_bar.h"

#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStyle>
#include <QTabWidget>

#include <cmath>

namespace headwise::ui {

ExportDialog::ExportDialog(const FigureSource* source, const FigureSettings& settings,
                           const QString& suggestedPath, QWidget* parent)
    : QDialog(parent)
    , m_source(source)
    , m_settings(settings)
    , m_presetName(m_presets.nameFor(settings, {}))
    , m_path(suggestedPath)
    , m_writer(new FigureWriter(this))
{
    setWindowTitle(tr("Export figure"));
    createControls();
    createLayout();
    connectControls();
    m_previewTimer.setSingleShot(true);
    m_previewTimer.setInterval(30);
    connect(&m_previewTimer, &QTimer::timeout, this,
            [this] { m_preview->showFigure(*m_source, m_settings); });
    fitHeight();
    showSettings();
    m_history = new ExportHistory(
        this, [this] { return state(); }, [this](const ExportState& wanted) { showState(wanted); });
    resize(960, 700);
}

void ExportDialog::fitHeight()
{
    m_presetHeight = m_settings.height;
    m_settings = fittedToView(*m_source, m_settings);
    m_fittedHeight = m_settings.height;
}

FigureSettings ExportDialog::remembered() const
{
    FigureSettings kept = withoutEdits(m_settings);
    if (std::abs(m_settings.height - m_fittedHeight) < sameLength)
        kept.height = m_presetHeight;
    return presetOf(kept) >= 0 ? kept : withoutEdits(m_settings);
}

void ExportDialog::createControls()
{
    m_preset = new QComboBox(this);
    m_preset->setAccessibleName(tr("Size"));
    m_presetMenu = new PresetMenu(
        &m_presets, [this] { return remembered(); }, this);
    fillPresets();
    m_form = new FigureForm({m_preset, m_presetMenu}, this);
    m_preview = new FigurePreview(this);
    m_message = new QLabel(this);
    m_message->setWordWrap(true);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_message->hide();
    m_caption = new CaptionEditor(m_source, m_settings.style.edits, this);
    auto* copy = new QPushButton(icon("copy"), tr("Copy settings"), this);
    copy->setToolTip(tr("Copies the settings as one line of text"));
    auto* paste = new QPushButton(tr("Paste settings"), this);
    connect(copy, &QPushButton::clicked, this, &ExportDialog::copySettings);
    connect(paste, &QPushButton::clicked, this, &ExportDialog::pasteSettings);
    for (QPushButton* button : {copy, paste})
        button->setAutoDefault(false);
    m_form->addRow(sideBySide({copy, paste}));
    m_edits = new EditsEditor(*m_source, m_settings.style.edits, this);
}

void ExportDialog::createLayout()
{
    auto* tabs = new QTabWidget(this);
    tabs->addTab(m_form, tr("Size and style"));
    tabs->addTab(m_edits, tr("Words and series"));
    tabs->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    auto* right = new QVBoxLayout;
    right->setSpacing(8);
    right->addWidget(m_preview, 1);
    right->addWidget(m_caption);
    if (const QString name = figureViewName(*m_source); !name.isEmpty()) {
        auto* command = new QLabel(tr("On the command line: --view '%1'").arg(name), this);
        makeSecondary(command);
        command->setTextFormat(Qt::PlainText);
        command->setWordWrap(true);
        command->setTextInteractionFlags(Qt::TextSelectableByMouse);
        right->addWidget(command);
    }
    auto* columns = new QHBoxLayout;
    columns->setSpacing(16);
    columns->addWidget(tabs, 0, Qt::AlignTop);
    columns->addLayout(right, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(12);
    layout->addLayout(columns, 1);
    layout->addWidget(m_message);
    layout->addWidget(new JobBar(m_writer->job(), this));
    layout->addWidget(createButtons());
}

void ExportDialog::connectControls()
{
    connect(m_form, &FigureForm::changed, this, &ExportDialog::readControls);
    connect(m_form, &FigureForm::unitChosen, this, [this](LengthUnit unit) {
        m_settings.unit = unit;
        showSettings();
    });
    connect(m_preset, &QComboBox::activated, this, &ExportDialog::applyPreset);
    connect(m_presetMenu, &PresetMenu::said, this, &ExportDialog::say);
    connect(m_presetMenu, &PresetMenu::changed, this, [this](const QString& chosen) {
        m_presetName = m_presets.nameFor(remembered(), chosen);
        fillPresets();
        readControls();
    });
    connect(m_edits, &EditsEditor::edited, this, [this] {
        const std::string caption = m_settings.style.edits.caption;
        m_settings.style.edits = m_edits->edits();
        m_settings.style.edits.caption = caption;
        m_caption->showCaption(m_settings.style.edits);
        m_previewTimer.start();
        m_history->noteChange();
    });
    connect(m_caption, &CaptionEditor::edited, this, [this] {
        m_settings.style.edits.caption = m_caption->caption();
        m_history->noteChange();
    });
    connect(m_caption, &CaptionEditor::copied, this, [this](const QString& words) { say(words, false); });
    connect(m_writer, &FigureWriter::failed, this, [this](const QString& message) { say(message, true); });
    connect(m_writer, &FigureWriter::copied, this, [this] { say(tr("Copied the figure."), false); });
    connect(m_writer, &FigureWriter::written, this, [this](const QString& file) {
        emit exported(file);
        accept();
    });
}

QDialogButtonBox* ExportDialog::createButtons()
{
    auto* buttons = new QDialogButtonBox(this);
    auto* exportButton = buttons->addButton(tr("Export figure…"), QDialogButtonBox::AcceptRole);
    exportButton->setDefault(true);
    exportButton->setIcon(icon("export"));
    auto* copyButton = buttons->addButton(tr("Copy figure"), QDialogButtonBox::ActionRole);
    copyButton->setIcon(icon("copy"));
    m_heads = buttons->addButton(tr("Export all heads…"), QDialogButtonBox::ActionRole);
    m_heads->setToolTip(tr("Exports the same picture for other heads, one file each"));
    m_heads->hide();
    buttons->addButton(QDialogButtonBox::Close);
    connect(exportButton, &QPushButton::clicked, this, &ExportDialog::chooseFile);
    connect(copyButton, &QPushButton::clicked, this, [this] { m_writer->copy(*m_source, m_settings); });
    const auto enableButtons = [exportButton, copyButton](bool enabled) {
        exportButton->setEnabled(enabled);
        copyButton->setEnabled(enabled);
    };
    connect(m_writer->job(), &Job::started, this, [enableButtons] { enableButtons(false); });
    connect(m_writer->job(), &Job::finished, this, [enableButtons] { enableButtons(true); });
    connect(m_heads, &QPushButton::clicked, this, [this] {
        accept();
        emit headsRequested();
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    return buttons;
}

ExportState ExportDialog::state() const
{
    return {m_settings, m_presetName, m_presetHeight, m_fittedHeight};
}

void ExportDialog::showState(const ExportState& wanted)
{
    m_settings = wanted.settings;
    m_presetName = wanted.preset;
    m_presetHeight = wanted.presetHeight;
    m_fittedHeight = wanted.fittedHeight;
    m_edits->setEdits(m_settings.style.edits);
    m_caption->showCaption(m_settings.style.edits);
    showSettings();
}

void ExportDialog::showSettings()
{
    m_form->showSettings(m_settings);
    readControls();
}

void ExportDialog::readControls()
{
    m_form->readSettings(m_settings);
    m_presetName = m_presets.nameFor(remembered(), m_presetName);
    const auto preset = static_cast<int>(m_presets.names().indexOf(m_presetName));
    m_preset->setCurrentIndex(preset < 0 ? m_preset->count() - 1 : preset);
    m_presetMenu->setCurrent(m_presetName);
    for (QWidget* ofPictures : std::initializer_list<QWidget*>{m_preset, m_edits})
        ofPictures->setEnabled(!isData(m_settings.format));
    m_message->hide();
    m_previewTimer.start();
    if (m_history) // else nothing can be taken back yet
        m_history->noteChange();
}

void ExportDialog::fillPresets()
{
    m_preset->clear();
    for (const QString& name : m_presets.names())
        m_preset->addItem(
            tr("%1, %2 mm").arg(FigurePresets::titleOf(name)).arg(m_presets.settingsOf(name, {}).width));
    m_preset->addItem(tr("Custom"));
}

void ExportDialog::setPresets(const FigurePresets& presets)
{
    m_presets = presets;
    m_presetName = m_presets.nameFor(remembered(), m_presets.current());
    fillPresets();
    m_history->pass([this] { readControls(); });
}

FigurePresets ExportDialog::presets() const
{
    FigurePresets kept = m_presets;
    kept.remember(m_presetName, remembered());
    return kept;
}

void ExportDialog::applyPreset(int index)
{
    const QStringList names = m_presets.names();
    if (index < 0 || index >= names.size())
        return m_form->focusWidth(); // a custom size
    m_presets.remember(m_presetName, remembered());
    m_presetName = names[index];
    m_settings = m_presets.settingsOf(m_presetName, m_settings);
    fitHeight();
    showSettings();
}

void ExportDialog::setHeadsOffered(bool offered)
{
    m_heads->setVisible(offered);
}

void ExportDialog::forgetSource()
{
    m_previewTimer.stop();
    m_preview->forgetSource();
    reject();
}

void ExportDialog::copySettings()
{
    QGuiApplication::clipboard()->setText(ui::text(withoutEdits(m_settings)));
    say(tr("Copied the settings. “Paste settings” applies them here or in another window."), false);
}

void ExportDialog::pasteSettings()
{
    const QString line = QGuiApplication::clipboard()->text();
    if (!isFigureSettings(line))
        return say(tr("The clipboard holds no figure settings. Use “Copy settings” first."), true);
    const FigureEdits edits = m_settings.style.edits;
    m_settings = parseFigureSettings(line);
    m_settings.style.edits = edits;
    showSettings();
}

void ExportDialog::say(const QString& message, bool isError)
{
    m_message->setProperty("role", isError ? QStringLiteral("error") : QStringLiteral("secondary"));
    m_message->style()->unpolish(m_message); // The style sheet depends on the role.
    m_message->style()->polish(m_message);
    m_message->setText(message);
    m_message->show();
}

void ExportDialog::chooseFile()
{
    const QString suffix = suffixOf(m_settings.format);
    auto* dialog = new QFileDialog(this, tr("Export figure"), m_path + u'.' + suffix,
                                   tr("%1 files (*.%2)").arg(suffix.toUpper(), suffix));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(suffix);
    connect(dialog, &QFileDialog::fileSelected, this, &ExportDialog::exportTo);
    dialog->open();
}

void ExportDialog::exportTo(const QString& fileName)
{
    m_writer->write(*m_source, fileName, m_settings);
}

} // namespace headwise::ui
