#include "ui/pages/export/figure_form.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_formats.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFontComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>

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
constexpr std::array formatRows{
    FormatRow{FigureFormat::Pdf, QT_TRANSLATE_NOOP("FigureForm", "PDF, for papers")},
    FormatRow{FigureFormat::Svg, QT_TRANSLATE_NOOP("FigureForm", "SVG, to edit")},
    FormatRow{FigureFormat::Png, QT_TRANSLATE_NOOP("FigureForm", "PNG, pixels")},
    FormatRow{FigureFormat::Csv, QT_TRANSLATE_NOOP("FigureForm", "CSV, the numbers")},
    FormatRow{FigureFormat::Tsv, QT_TRANSLATE_NOOP("FigureForm", "TSV, the numbers")},
    FormatRow{FigureFormat::Npy, QT_TRANSLATE_NOOP("FigureForm", "NPY, for NumPy")},
    FormatRow{FigureFormat::Latex, QT_TRANSLATE_NOOP("FigureForm", "LaTeX table")},
    FormatRow{FigureFormat::Markdown, QT_TRANSLATE_NOOP("FigureForm", "Markdown table")}};

QDoubleSpinBox* numberBox(QWidget* parent, FigureRange range, const QString& suffix)
{
    auto* box = new QDoubleSpinBox(parent);
    box->setRange(range.low, range.high);
    box->setDecimals(1);
    box->setSuffix(suffix);
    box->setFont(numberFont());
    return box;
}

/// Returns the length of the unit, mm.
double unitLength(const FigureSettings& settings)
{
    return settings.unit == LengthUnit::Inches ? millimetresPerInch : 1;
}

} // namespace

QHBoxLayout* sideBySide(std::initializer_list<QWidget*> widgets)
{
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    for (QWidget* widget : widgets)
        row->addWidget(widget);
    return row;
}

FigureForm::FigureForm(std::initializer_list<QWidget*> size, QWidget* parent)
    : QWidget(parent)
{
    m_format = new QComboBox(this);
    for (const FormatRow& row : formatRows)
        m_format->addItem(tr(row.title));
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
    createLayout(size);
    connectControls();
    QWidget* last = m_format;
    for (QWidget* control : size) {
        setTabOrder(last, control);
        last = control;
    }
}

void FigureForm::createLayout(std::initializer_list<QWidget*> size)
{
    auto* form = m_layout = new QFormLayout(this);
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
    form->addRow(tr("Size"), sideBySide(size));
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
}

void FigureForm::connectControls()
{
    for (QDoubleSpinBox* box : {m_width, m_height, m_fontSize, m_lineWidth})
        connect(box, &QDoubleSpinBox::valueChanged, this, &FigureForm::changed);
    for (QCheckBox* box : {m_title, m_colorBar, m_axes, m_dataBeside, m_provenanceInData})
        connect(box, &QCheckBox::toggled, this, &FigureForm::changed);
    connect(m_dpi, &QSpinBox::valueChanged, this, &FigureForm::changed);
    connect(m_font, &QFontComboBox::currentFontChanged, this, &FigureForm::changed);
    for (QComboBox* box : {m_format, m_background})
        connect(box, &QComboBox::currentIndexChanged, this, &FigureForm::changed);
    connect(m_unit, &QComboBox::activated, this, [this](int index) {
        emit unitChosen(index == 1 ? LengthUnit::Inches : LengthUnit::Millimetres);
    });
}

void FigureForm::addRow(QHBoxLayout* row)
{
    m_layout->addRow(QString(), row);
}

void FigureForm::focusWidth()
{
    m_width->setFocus();
}

void FigureForm::showUnit(const FigureSettings& settings)
{
    const double unit = unitLength(settings);
    const bool inches = settings.unit == LengthUnit::Inches;
    m_unit->setCurrentIndex(inches ? 1 : 0);
    for (QDoubleSpinBox* box : {m_width, m_height}) {
        box->setDecimals(inches ? 3 : 1);
        box->setSingleStep(inches ? 0.1 : 1);
        box->setRange(figureSide.low / unit, figureSide.high / unit);
    }
    m_width->setValue(settings.width / unit);
    m_height->setValue(settings.height / unit);
}

void FigureForm::showSettings(const FigureSettings& settings)
{
    std::vector<QSignalBlocker> quiet;
    for (QWidget* control : std::initializer_list<QWidget*>{
             m_format, m_width, m_height, m_dpi, m_font, m_fontSize, m_lineWidth, m_background, m_title,
             m_colorBar, m_axes, m_dataBeside, m_provenanceInData})
        quiet.emplace_back(control);
    const auto row = std::ranges::find(formatRows, settings.format, &FormatRow::format);
    m_format->setCurrentIndex(static_cast<int>(row - formatRows.begin()));
    showUnit(settings);
    m_dpi->setValue(settings.dpi);
    const QString family = ui::text(settings.style.fontFamily);
    m_font->setCurrentFont(family.isEmpty() ? font() : QFont(family));
    m_fontSize->setValue(settings.style.fontSize);
    m_lineWidth->setValue(settings.style.lineWidth);
    m_background->setCurrentIndex(settings.transparent ? 1 : 0);
    m_title->setChecked(settings.style.title);
    m_colorBar->setChecked(settings.style.colorBar);
    m_axes->setChecked(settings.style.axes);
    m_dataBeside->setChecked(settings.dataBeside);
    m_provenanceInData->setChecked(settings.provenanceInData);
}

void FigureForm::readSettings(FigureSettings& settings)
{
    settings.format = formatRows[static_cast<std::size_t>(m_format->currentIndex())].format;
    // A length that the box only rounds must not change, in either unit.
    const auto readLength = [unit = unitLength(settings)](const QDoubleSpinBox* box, double& length) {
        if (std::abs(box->value() * unit - length) > 0.51 * std::pow(10, -box->decimals()) * unit)
            length = box->value() * unit;
    };
    readLength(m_width, settings.width);
    readLength(m_height, settings.height);
    settings.dpi = m_dpi->value();
    const QString family = m_font->currentFont().family();
    // An empty family means the program's own font, so that settings mean the same on another machine.
    settings.style.fontFamily = family == font().family() ? std::string() : family.toStdString();
    settings.style.fontSize = m_fontSize->value();
    settings.style.lineWidth = m_lineWidth->value();
    settings.transparent = m_background->currentIndex() == 1;
    settings.style.title = m_title->isChecked();
    settings.style.colorBar = m_colorBar->isChecked();
    settings.style.axes = m_axes->isChecked();
    settings.dataBeside = m_dataBeside->isChecked();
    settings.provenanceInData = m_provenanceInData->isChecked();
    updateEnabled(settings);
}

void FigureForm::updateEnabled(const FigureSettings& settings)
{
    const bool ofNumbers = isData(settings.format);
    const bool delimited = settings.format == FigureFormat::Csv || settings.format == FigureFormat::Tsv;
    for (QWidget* ofPictures :
         std::initializer_list<QWidget*>{m_width, m_height, m_unit, m_font, m_fontSize, m_lineWidth,
                                         m_background, m_title, m_colorBar, m_axes, m_dataBeside})
        ofPictures->setEnabled(!ofNumbers);
    m_dpi->setEnabled(settings.format == FigureFormat::Png);
    m_provenanceInData->setEnabled(delimited || (!ofNumbers && settings.dataBeside));
}

} // namespace headwise::ui
