#include "ui/pages/export/export_dialog.h"

#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_formats.h"
#include "ui/figures/figure_writer.h"
#include "ui/pages/export/edits_editor.h"
#include "ui/pages/export/export_dialog_preview.h"
#include "ui/pages/export/preset_menu.h"
#include "ui/widgets/job_bar.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFontComboBox>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStyle>
#include <QTabWidget>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace headwise::ui {

namespace {

struct FormatRow {
    FigureFormat format;
    const char* title;
};
constexpr std::array formats{
    FormatRow{FigureFormat::Pdf, QT_TRANSLATE_NOOP("ExportDialog", "PDF, for papers")},
    FormatRow{FigureFormat::Svg, QT_TRANSLATE_NOOP("ExportDialog", "SVG, to edit")},
    FormatRow{FigureFormat::Png, QT_TRANSLATE_NOOP("ExportDialog", "PNG, pixels")},
    FormatRow{FigureFormat::Csv, QT_TRANSLATE_NOOP("ExportDialog", "CSV, the numbers")},
    FormatRow{FigureFormat::Tsv, QT_TRANSLATE_NOOP("ExportDialog", "TSV, the numbers")},
    FormatRow{FigureFormat::Npy, QT_TRANSLATE_NOOP("ExportDialog", "NPY, for NumPy")},
    FormatRow{FigureFormat::Latex, QT_TRANSLATE_NOOP("ExportDialog", "LaTeX table")},
    FormatRow{FigureFormat::Markdown, QT_TRANSLATE_NOOP("ExportDialog", "Markdown table")}};

constexpr double sameLength = 0.06; // mm; differences that the boxes round away

QDoubleSpinBox* numberBox(QWidget* parent, FigureRange range, const QString& suffix)
{
    auto* box = new QDoubleSpinBox(parent);
    box->setRange(range.low, range.high);
    box->setDecimals(1);
    box->setSuffix(suffix);
    box->setFont(numberFont());
    return box;
}

QHBoxLayout* sideBySide(std::initializer_list<QWidget*> widgets)
{
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    for (QWidget* widget : widgets)
        row->addWidget(widget);
    return row;
}

} // namespace

int presetOf(const FigureSettings& settings)
{
    const auto found = std::ranges::find_if(figurePresets, [&settings](const FigurePreset& preset) {
        return std::abs(preset.width - settings.width) < sameLength
            && std::abs(preset.height - settings.height) < sameLength;
    });
    return found == figurePresets.end() ? -1 : static_cast<int>(found - figurePresets.begin());
}

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
    connect(&m_previewTimer, &QTimer::timeout, this, &ExportDialog::updatePreview);
    fitHeight();
    m_isRestoring = true; // Nothing to take back yet.
    showSettings();
    m_isRestoring = false;
    createUndo();
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
    m_format = new QComboBox(this);
    for (const FormatRow& row : formats)
        m_format->addItem(tr(row.title));
    m_preset = new QComboBox(this);
    m_presetMenu = new PresetMenu(
        &m_presets, [this] { return remembered(); }, this);
    fillPresets();
    m_width = numberBox(this, figureSide, {});
    m_height = numberBox(this, figureSide, {});
    m_unit = new QComboBox(this);
    m_unit->addItems({tr("mm"), tr("in")});
    m_dpi = new QSpinBox(this);
    m_dpi->setRange(static_cast<int>(figureDpi.low), static_cast<int>(figureDpi.high));
    m_dpi->setSuffix(tr(" dpi"));
    m_dpi->setFont(numberFont());
    m_font = new QFontComboBox(this);
    m_font->setMinimumContentsLength(14);
    m_font->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_fontSize = numberBox(this, figureFontSize, tr(" pt"));
    m_lineWidth = numberBox(this, figureLineWidth, tr(" pt"));
    m_lineWidth->setDecimals(2);
    m_lineWidth->setSingleStep(0.25);
    m_background = new QComboBox(this);
    m_background->addItems({tr("White"), tr("Transparent")});
    m_title = new QCheckBox(tr("Title"), this);
    m_colorBar = new QCheckBox(tr("Colour bar"), this);
    m_axes = new QCheckBox(tr("Axes"), this);
    m_dataBeside = new QCheckBox(tr("Also write the numbers as CSV"), this);
    m_provenanceInData = new QCheckBox(tr("Provenance as # lines in the table"), this);
    m_preview = new FigurePreview(this);
    m_message = new QLabel(this);
    m_message->setWordWrap(true);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_message->hide();
}

QFormLayout* ExportDialog::createForm()
{
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(12);
    form->setVerticalSpacing(8);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    auto* times = new QLabel(QStringLiteral("×"), this);
    times->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    const auto add = [form](const QString& name, QWidget* field) {
        form->addRow(name, field);
        field->setAccessibleName(name);
    };
    add(tr("Format"), m_format);
    form->addRow(tr("Size"), sideBySide({m_preset, m_presetMenu}));
    m_preset->setAccessibleName(tr("Size"));
    form->addRow(tr("Width × height"), sideBySide({m_width, times, m_height, m_unit}));
    m_width->setAccessibleName(tr("Width"));
    m_height->setAccessibleName(tr("Height"));
    m_unit->setAccessibleName(tr("Unit of length"));
    add(tr("Resolution"), m_dpi);
    add(tr("Font"), m_font);
    add(tr("Font size"), m_fontSize);
    add(tr("Line width"), m_lineWidth);
    add(tr("Background"), m_background);
    form->addRow(tr("Show"), sideBySide({m_title, m_colorBar, m_axes}));
    form->addRow(QString(), m_dataBeside);
    form->addRow(QString(), m_provenanceInData);
    auto* copy = new QPushButton(icon("copy"), tr("Copy settings"), this);
    copy->setToolTip(tr("Copies the settings as one line of text"));
    auto* paste = new QPushButton(tr("Paste settings"), this);
    connect(copy, &QPushButton::clicked, this, &ExportDialog::copySettings);
    connect(paste, &QPushButton::clicked, this, &ExportDialog::pasteSettings);
    for (QPushButton* button : {copy, paste})
        button->setAutoDefault(false);
    form->addRow(QString(), sideBySide({copy, paste}));
    return form;
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

QWidget* ExportDialog::createTabs()
{
    auto* style = new QWidget(this);
    style->setLayout(createForm());
    m_edits = new EditsEditor(*m_source, m_settings.style.edits, this);
    auto* tabs = new QTabWidget(this);
    tabs->addTab(style, tr("Size and style"));
    tabs->addTab(m_edits, tr("Words and series"));
    tabs->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    return tabs;
}

void ExportDialog::createLayout()
{
    auto* right = new QVBoxLayout;
    right->setSpacing(8);
    right->addWidget(m_preview, 1);
    right->addWidget(createCaption());
    auto* columns = new QHBoxLayout;
    columns->setSpacing(16);
    columns->addWidget(createTabs(), 0, Qt::AlignTop);
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
    for (QDoubleSpinBox* box : {m_width, m_height, m_fontSize, m_lineWidth})
        connect(box, &QDoubleSpinBox::valueChanged, this, &ExportDialog::readControls);
    for (QCheckBox* box : {m_title, m_colorBar, m_axes, m_dataBeside, m_provenanceInData})
        connect(box, &QCheckBox::toggled, this, &ExportDialog::readControls);
    connect(m_dpi, &QSpinBox::valueChanged, this, &ExportDialog::readControls);
    connect(m_font, &QFontComboBox::currentFontChanged, this, &ExportDialog::readControls);
    for (QComboBox* box : {m_format, m_background})
        connect(box, &QComboBox::currentIndexChanged, this, &ExportDialog::readControls);
    connect(m_unit, &QComboBox::activated, this, [this](int index) {
        m_settings.unit = index == 1 ? LengthUnit::Inches : LengthUnit::Millimetres;
        showSettings();
    });
    connect(m_preset, &QComboBox::activated, this, &ExportDialog::applyPreset);
    connect(m_presetMenu, &PresetMenu::said, this, &ExportDialog::say);
    connect(m_presetMenu, &PresetMenu::changed, this, [this](const QString& chosen) {
        m_presetName = m_presets.nameFor(remembered(), chosen);
        fillPresets();
        readControls();
    });
    connect(m_edits, &EditsEditor::edited, this, &ExportDialog::readEdits);
    connect(m_caption, &QPlainTextEdit::textChanged, this, &ExportDialog::readCaption);
    connect(m_writer, &FigureWriter::failed, this, [this](const QString& message) { say(message, true); });
    connect(m_writer, &FigureWriter::copied, this, [this] { say(tr("Copied the figure."), false); });
    connect(m_writer, &FigureWriter::written, this, [this](const QString& file) {
        emit exported(file);
        accept();
    });
}

double ExportDialog::unitLength() const
{
    return m_settings.unit == LengthUnit::Inches ? millimetresPerInch : 1;
}

void ExportDialog::showUnit()
{
    const bool inches = m_settings.unit == LengthUnit::Inches;
    m_unit->setCurrentIndex(inches ? 1 : 0);
    for (QDoubleSpinBox* box : {m_width, m_height}) {
        box->setDecimals(inches ? 3 : 1);
        box->setSingleStep(inches ? 0.1 : 1);
        box->setRange(figureSide.low / unitLength(), figureSide.high / unitLength());
    }
    m_width->setValue(m_settings.width / unitLength());
    m_height->setValue(m_settings.height / unitLength());
}

void ExportDialog::showSettings()
{
    {
        std::vector<QSignalBlocker> quiet;
        for (QWidget* control : std::initializer_list<QWidget*>{
                 m_format, m_width, m_height, m_dpi, m_font, m_fontSize, m_lineWidth, m_background, m_title,
                 m_colorBar, m_axes, m_dataBeside, m_provenanceInData})
            quiet.emplace_back(control);
        const auto row = std::ranges::find(formats, m_settings.format, &FormatRow::format);
        m_format->setCurrentIndex(static_cast<int>(row - formats.begin()));
        showUnit();
        m_dpi->setValue(m_settings.dpi);
        const QString family = ui::text(m_settings.style.fontFamily);
        m_font->setCurrentFont(family.isEmpty() ? font() : QFont(family));
        m_fontSize->setValue(m_settings.style.fontSize);
        m_lineWidth->setValue(m_settings.style.lineWidth);
        m_background->setCurrentIndex(m_settings.transparent ? 1 : 0);
        m_title->setChecked(m_settings.style.title);
        m_colorBar->setChecked(m_settings.style.colorBar);
        m_axes->setChecked(m_settings.style.axes);
        m_dataBeside->setChecked(m_settings.dataBeside);
        m_provenanceInData->setChecked(m_settings.provenanceInData);
    }
    readControls();
}

void ExportDialog::readControls()
{
    m_settings.format = formats[static_cast<std::size_t>(m_format->currentIndex())].format;
    // A length that the box only rounds must not change, in either unit.
    const auto readLength = [this](const QDoubleSpinBox* box, double& length) {
        if (std::abs(box->value() * unitLength() - length)
            > 0.51 * std::pow(10, -box->decimals()) * unitLength())
            length = box->value() * unitLength();
    };
    readLength(m_width, m_settings.width);
    readLength(m_height, m_settings.height);
    m_settings.dpi = m_dpi->value();
    const QString family = m_font->currentFont().family();
    // An empty family means the program's own font, so that settings mean the same on another machine.
    m_settings.style.fontFamily = family == font().family() ? std::string() : family.toStdString();
    m_settings.style.fontSize = m_fontSize->value();
    m_settings.style.lineWidth = m_lineWidth->value();
    m_settings.transparent = m_background->currentIndex() == 1;
    m_settings.style.title = m_title->isChecked();
    m_settings.style.colorBar = m_colorBar->isChecked();
    m_settings.style.axes = m_axes->isChecked();
    m_settings.dataBeside = m_dataBeside->isChecked();
    m_settings.provenanceInData = m_provenanceInData->isChecked();
    m_presetName = m_presets.nameFor(remembered(), m_presetName);
    const auto preset = static_cast<int>(m_presets.names().indexOf(m_presetName));
    m_preset->setCurrentIndex(preset < 0 ? m_preset->count() - 1 : preset);
    m_presetMenu->setCurrent(m_presetName);
    updateEnabled();
    m_message->hide();
    m_previewTimer.start();
    noteChange();
}

void ExportDialog::updateEnabled()
{
    const bool ofNumbers = isData(m_settings.format);
    const bool delimited = m_settings.format == FigureFormat::Csv || m_settings.format == FigureFormat::Tsv;
    for (QWidget* ofPictures :
         std::initializer_list<QWidget*>{m_preset, m_width, m_height, m_unit, m_font, m_fontSize, m_lineWidth,
                                         m_background, m_title, m_colorBar, m_axes, m_dataBeside, m_edits})
        ofPictures->setEnabled(!ofNumbers);
    m_dpi->setEnabled(m_settings.format == FigureFormat::Png);
    m_provenanceInData->setEnabled(delimited || (!ofNumbers && m_settings.dataBeside));
}

void ExportDialog::applyPreset(int index)
{
    const QStringList names = m_presets.names();
    if (index < 0 || index >= names.size())
        return m_width->setFocus(); // a custom size
    m_presets.remember(m_presetName, remembered());
    m_presetName = names[index];
    m_settings = m_presets.settingsOf(m_presetName, m_settings);
    fitHeight();
    showSettings();
}

void ExportDialog::updatePreview()
{
    m_preview->showFigure(*m_source, m_settings);
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
