#include "ui/pages/export/export_dialog_preview.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_formats.h"
#include "ui/figures/figure_recording.h"
#include "ui/heatmaps/color_vision_effect.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QScreen>
#include <QScrollArea>
#include <QStackedWidget>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr int exportDialogPreviewMargin = 16; // px around the sheet
constexpr qsizetype shownLines = 60;          // of numbers
constexpr qsizetype shownCharacters = 400;    // per line
constexpr double mostDots = 2400;             // device pixels of the preview in each direction

/// Puts a checkerboard behind a transparent figure, as image editors do.
QImage onSquares(const QImage& figure)
{
    QImage sheet(figure.size(), QImage::Format_RGB32);
    QPainter painter(&sheet);
    constexpr int side = 8;
    for (int y = 0; y < sheet.height(); y += side)
        for (int x = 0; x < sheet.width(); x += side)
            painter.fillRect(x, y, side, side,
                             (x / side + y / side) % 2 == 0 ? lightColors().base : lightColors().border);
    painter.drawImage(0, 0, figure);
    return sheet;
}

} // namespace

/// The first lines of the numbers.
struct FigurePreview::Beginning {
    QString lines;
    qsizetype all;
};

FigurePreview::FigurePreview(QWidget* parent)
    : QWidget(parent)
    , m_stack(new QStackedWidget(this))
    , m_scroll(new QScrollArea(this))
    , m_sheet(new QLabel(this))
    , m_data(new QPlainTextEdit(this))
    , m_state(new QLabel(this))
    , m_fit(new QComboBox(this))
{
    m_sheet->setAlignment(Qt::AlignCenter);
    followShownVision(m_sheet);
    m_sheet->setAccessibleName(tr("Preview of the figure"));
    m_scroll->setWidget(m_sheet);
    m_scroll->setAlignment(Qt::AlignCenter);
    m_scroll->setMinimumSize(320, 260);
    m_scroll->setBackgroundRole(QPalette::AlternateBase);
    m_data->setReadOnly(true);
    m_data->setFont(tokenFont());
    m_data->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_data->setAccessibleName(tr("Preview of the numbers"));
    m_stack->addWidget(m_scroll);
    m_stack->addWidget(m_data);
    makeSecondary(m_state);
    m_state->setWordWrap(true);
    m_fit->addItems({tr("True size, or fit to window"), tr("True size"), tr("Fit")});
    m_fit->setAccessibleName(tr("Size of the preview"));
    connect(m_fit, &QComboBox::activated, this, &FigurePreview::showPicture);
    auto* below = new QHBoxLayout;
    below->addWidget(m_state, 1);
    below->addWidget(m_fit);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_stack, 1);
    layout->addLayout(below);
}

double FigurePreview::dotsPerInch() const
{
    // Virtual and remote screens report wrong sizes.
    const double physical = screen()->physicalDotsPerInch();
    return physical >= 50 && physical <= 600 ? physical : 96;
}

void FigurePreview::showFigure(const FigureSource& source, const FigureSettings& settings)
{
    m_source = &source;
    m_settings = settings;
    m_reading.cancel(); // started with other settings
    m_fit->setVisible(!isData(settings.format));
    m_stack->setCurrentWidget(isData(settings.format) ? static_cast<QWidget*>(m_data) : m_scroll);
    if (isData(settings.format))
        showData();
    else
        showPicture();
}

void FigurePreview::showPicture()
{
    if (!m_source || isData(m_settings.format))
        return;
    const double perMillimetre = dotsPerInch() / millimetresPerInch;
    const QSizeF room =
        m_scroll->maximumViewportSize() - QSize(2 * exportDialogPreviewMargin, 2 * exportDialogPreviewMargin);
    const double fitting = std::max(0.02,
                                    std::min(room.width() / (m_settings.width * perMillimetre),
                                             room.height() / (m_settings.height * perMillimetre)));
    m_zoom = m_fit->currentIndex() == 1 ? 1 : m_fit->currentIndex() == 2 ? fitting : std::min(1.0, fitting);
    const double ratio = devicePixelRatioF();
    const double largest = std::max(m_settings.width, m_settings.height) / millimetresPerInch;
    const double dpi = std::clamp(dotsPerInch() * m_zoom * ratio, 8.0, std::max(18.0, mostDots / largest));
    QImage image = figureImage(*m_source, m_settings, dpi);
    if (m_settings.transparent)
        image = onSquares(image);
    QPainter painter(&image);
    painter.resetTransform();
    painter.setPen(themeColors(palette()).border);
    painter.drawRect(0, 0, image.width() - 1, image.height() - 1);
    painter.end();
    // If the sheet is larger than the rendered image, the image is enlarged.
    image.setDevicePixelRatio(ratio * dpi / (dotsPerInch() * m_zoom * ratio));
    m_sheet->setPixmap(QPixmap::fromImage(image));
    m_sheet->resize(image.deviceIndependentSize().toSize()
                    + QSize(2 * exportDialogPreviewMargin, 2 * exportDialogPreviewMargin));
    const QString size = m_settings.unit == LengthUnit::Inches
        ? tr("%1 × %2 in")
              .arg(m_settings.width / millimetresPerInch, 0, 'f', 2)
              .arg(m_settings.height / millimetresPerInch, 0, 'f', 2)
        : tr("%1 × %2 mm").arg(m_settings.width, 0, 'f', 1).arg(m_settings.height, 0, 'f', 1);
    QStringList facts{std::abs(m_zoom - 1) < 0.005
                          ? tr("100 %, true size on this screen · %1").arg(size)
                          : tr("%1 % of true size · %2").arg(std::lround(100 * m_zoom)).arg(size)};
    facts += m_source->omissions(paintedSize(m_settings), m_settings.style);
    m_state->setText(facts.join(QStringLiteral(" · ")));
}

void FigurePreview::showData()
{
    if (m_settings.format == FigureFormat::Npy) {
        const auto array = m_source->figureArray();
        m_data->setPlainText(
            array ? tr("A float32 array of shape (%1, %2).\n\nnumpy.load(\"figure.npy\")")
                        .arg(array->shape[0])
                        .arg(array->shape[1])
                  : tr("One record per row, a field per column.\n\nnumpy.load(\"figure.npy\")"));
        return m_state->clear();
    }
    FigureSettings settings = m_settings;
    settings.dataBeside = false;
    const auto recording = std::make_shared<RecordedFigure>(*m_source, settings, RecordedFigure::Rows::Later);
    qsizetype left = 0; // number of rows not read
    if (recording->lacksRows()) {
        const auto& table = dynamic_cast<const RowsInTurns&>(*m_source);
        std::vector<QStringList> rows;
        for (int row = -1; row < std::min(static_cast<int>(shownLines), table.dataRowCount()); ++row)
            rows.push_back(table.dataRow(row));
        left = table.dataRowCount() + 1 - std::ssize(rows);
        recording->setRows(std::move(rows));
    }
    m_reading.start(
        tr("Preview of the numbers"),
        [recording, left, settings](const Task& /*task*/) -> Result<Beginning> {
            const Result<RenderedFigure> figure = renderFigure(*recording, settings);
            if (!figure)
                return figure.error();
            QStringList lines = QString::fromUtf8(figure->bytes).split(u'\n');
            const qsizetype all = lines.size() - 1 + left;
            lines = lines.first(std::min(shownLines, lines.size()));
            for (QString& line : lines)
                line = line.remove(u'\r').left(shownCharacters);
            return Beginning{lines.join(u'\n'), all};
        },
        [this](const Result<Beginning>& beginning) {
            if (beginning)
                return showBeginning(*beginning);
            m_data->setPlainText(text(beginning.error()));
            m_state->clear();
        });
}

void FigurePreview::showBeginning(const Beginning& text)
{
    m_data->setPlainText(text.lines);
    m_state->setText(text.all > shownLines
                         ? tr("The first %1 of %2 lines").arg(shownLines).arg(ui::count(text.all))
                         : tr("%1 lines").arg(ui::count(text.all)));
}

void FigurePreview::resizeEvent(QResizeEvent* /*event*/)
{
    showPicture();
}

void FigurePreview::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        showPicture();
}

} // namespace headwise::ui
