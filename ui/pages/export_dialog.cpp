#include "ui/pages/export_dialog.h"

#include "ui/icons.h"
#include "ui/text.h"
#include "ui/theme.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFontComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>

#include <algorithm>
#include <array>

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
    FormatRow{FigureFormat::Tsv, QT_TRANSLATE_NOOP("ExportDialog", "TSV, the numbers")}};

QDoubleSpinBox* millimetres(QWidget* parent)
{
    auto* box = new QDoubleSpinBox(parent);
    box->setRange(10, 5000);
    box->setDecimals(1);
    box->setSuffix(ExportDialog::tr(" mm"));
    return box;
}

bool isTable(FigureFormat format)
{
    return format == FigureFormat::Csv || format == FigureFormat::Tsv;
}

} // namespace

const QList<FigurePreset>& figurePresets()
{
    static const QList<FigurePreset> presets{{ExportDialog::tr("Single column"), 85, 70, 8},
                                             {ExportDialog::tr("Double column"), 178, 100, 8},
                                             {ExportDialog::tr("Slide 16:9"), 254, 142.9, 16},
                                             {ExportDialog::tr("Poster"), 420, 300, 24}};
    return presets;
}

ExportDialog::ExportDialog(const FigureSource* source, const FigureSettings& settings,
                           const QString& suggestedPath, QWidget* parent)
    : QDialog(parent)
    , m_source(source)
    , m_settings(settings)
    , m_path(suggestedPath)
{
    setWindowTitle(tr("Export figure"));
    createControls();
    createLayout();
    m_previewTimer.setSingleShot(true);
    m_previewTimer.setInterval(30);
    connect(&m_previewTimer, &QTimer::timeout, this, &ExportDialog::updatePreview);
    showSettings();
    resize(820, 480);
}

void ExportDialog::createControls()
{
    m_format = new QComboBox(this);
    for (const FormatRow& row : formats)
        m_format->addItem(tr(row.title));
    m_preset = new QComboBox(this);
    m_preset->addItem(tr("Own size"));
    for (const FigurePreset& preset : figurePresets())
        m_preset->addItem(tr("%1, %2 mm").arg(preset.title).arg(preset.width));
    m_width = millimetres(this);
    m_height = millimetres(this);
    m_dpi = new QSpinBox(this);
    m_dpi->setRange(18, 2400);
    m_dpi->setSuffix(tr(" dpi"));
    m_font = new QFontComboBox(this);
    m_fontSize = new QDoubleSpinBox(this);
    m_fontSize->setRange(3, 96);
    m_fontSize->setDecimals(1);
    m_fontSize->setSuffix(tr(" pt"));
    m_title = new QCheckBox(tr("Title"), this);
    m_colorBar = new QCheckBox(tr("Colour bar"), this);
    m_dataBeside = new QCheckBox(tr("Also write the numbers as CSV"), this);
    m_provenanceInData = new QCheckBox(tr("Provenance as # lines in the table"), this);
    m_preview = new QLabel(this);
    m_preview->setAlignment(Qt::AlignCenter);
    m_preview->setMinimumSize(320, 240);
    m_message = new QLabel(this);
    m_message->setWordWrap(true);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_message->setProperty("role", QStringLiteral("error"));
    for (QDoubleSpinBox* box : {m_width, m_height, m_fontSize})
        connect(box, &QDoubleSpinBox::valueChanged, this, &ExportDialog::readControls);
    for (QCheckBox* box : {m_title, m_colorBar, m_dataBeside, m_provenanceInData})
        connect(box, &QCheckBox::toggled, this, &ExportDialog::readControls);
    connect(m_dpi, &QSpinBox::valueChanged, this, &ExportDialog::readControls);
    connect(m_font, &QFontComboBox::currentFontChanged, this, &ExportDialog::readControls);
    connect(m_format, &QComboBox::currentIndexChanged, this, &ExportDialog::readControls);
    connect(m_preset, &QComboBox::activated, this, [this](int index) { applyPreset(index - 1); });
}

void ExportDialog::createLayout()
{
    auto* form = new QFormLayout;
    form->setSpacing(8);
    form->addRow(tr("Format"), m_format);
    form->addRow(tr("Size"), m_preset);
    form->addRow(tr("Width"), m_width);
    form->addRow(tr("Height"), m_height);
    form->addRow(tr("Resolution"), m_dpi);
    form->addRow(tr("Font"), m_font);
    form->addRow(tr("Font size"), m_fontSize);
    for (QCheckBox* box : {m_title, m_colorBar, m_dataBeside, m_provenanceInData})
        form->addRow(QString(), box);
    auto* buttons = new QDialogButtonBox(this);
    auto* exportButton = buttons->addButton(tr("Export figure…"), QDialogButtonBox::ActionRole);
    exportButton->setDefault(true);
    exportButton->setIcon(icon("export"));
    auto* copyButton = buttons->addButton(tr("Copy figure"), QDialogButtonBox::ActionRole);
    copyButton->setIcon(icon("copy"));
    buttons->addButton(QDialogButtonBox::Close);
    connect(exportButton, &QPushButton::clicked, this, &ExportDialog::chooseFile);
    connect(copyButton, &QPushButton::clicked, this, [this] { copyFigure(*m_source, m_settings); });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* columns = new QHBoxLayout;
    columns->setSpacing(16);
    columns->addLayout(form);
    columns->addWidget(m_preview, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(12);
    layout->addLayout(columns, 1);
    layout->addWidget(m_message);
    layout->addWidget(buttons);
}

void ExportDialog::showSettings()
{
    {
        const QSignalBlocker blockFormat(m_format), blockWidth(m_width), blockHeight(m_height),
            blockDpi(m_dpi), blockFont(m_font), blockSize(m_fontSize), blockTitle(m_title),
            blockBar(m_colorBar), blockData(m_dataBeside), blockProvenance(m_provenanceInData);
        const auto row = std::ranges::find(formats, m_settings.format, &FormatRow::format);
        m_format->setCurrentIndex(static_cast<int>(row - formats.begin()));
        m_width->setValue(m_settings.width);
        m_height->setValue(m_settings.height);
        m_dpi->setValue(m_settings.dpi);
        m_font->setCurrentFont(m_settings.style.fontFamily.isEmpty() ? font()
                                                                     : QFont(m_settings.style.fontFamily));
        m_fontSize->setValue(m_settings.style.fontSize);
        m_title->setChecked(m_settings.style.title);
        m_colorBar->setChecked(m_settings.style.colorBar);
        m_dataBeside->setChecked(m_settings.dataBeside);
        m_provenanceInData->setChecked(m_settings.provenanceInData);
    }
    readControls();
}

void ExportDialog::readControls()
{
    m_settings.format = formats[static_cast<std::size_t>(m_format->currentIndex())].format;
    m_settings.width = m_width->value();
    m_settings.height = m_height->value();
    m_settings.dpi = m_dpi->value();
    const QString family = m_font->currentFont().family();
    // The program's own font stays "the program's", so that settings mean the same on another machine.
    m_settings.style.fontFamily = family == font().family() ? QString() : family;
    m_settings.style.fontSize = m_fontSize->value();
    m_settings.style.title = m_title->isChecked();
    m_settings.style.colorBar = m_colorBar->isChecked();
    m_settings.dataBeside = m_dataBeside->isChecked();
    m_settings.provenanceInData = m_provenanceInData->isChecked();
    const bool table = isTable(m_settings.format);
    m_dpi->setEnabled(m_settings.format == FigureFormat::Png);
    m_dataBeside->setEnabled(!table);
    m_provenanceInData->setEnabled(table || m_settings.dataBeside);
    int preset = 0;
    for (qsizetype i = 0; i < figurePresets().size(); ++i)
        if (figurePresets()[i].width == m_settings.width && figurePresets()[i].height == m_settings.height)
            preset = static_cast<int>(i) + 1;
    m_preset->setCurrentIndex(preset);
    m_message->clear();
    m_previewTimer.start();
}

void ExportDialog::applyPreset(int index)
{
    if (index < 0 || index >= figurePresets().size())
        return;
    const FigurePreset& preset = figurePresets()[index];
    m_settings.width = preset.width;
    m_settings.height = preset.height;
    m_settings.style.fontSize = preset.fontSize;
    showSettings();
}

void ExportDialog::updatePreview()
{
    const QSizeF room = QSizeF(m_preview->size()) * devicePixelRatioF();
    const double dpi = 25.4 * std::min(room.width() / m_settings.width, room.height() / m_settings.height);
    QImage image = figureImage(*m_source, m_settings, std::max(18, static_cast<int>(dpi)));
    image.setDevicePixelRatio(devicePixelRatioF());
    m_preview->setPixmap(QPixmap::fromImage(image));
}

void ExportDialog::resizeEvent(QResizeEvent* /*event*/)
{
    m_previewTimer.start();
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

bool ExportDialog::exportTo(const QString& fileName)
{
    const Result<Done> written = exportFigure(*m_source, fileName, m_settings);
    if (!written) {
        m_message->setText(text(written.error()));
        return false;
    }
    emit exported(fileName);
    accept();
    return true;
}

} // namespace headwise::ui
