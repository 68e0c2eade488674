#pragma once

#include "core/base/result.h"

#include <QList>
#include <QSizeF>
#include <QString>
#include <QStringList>

#include <functional>
#include <utility>

class QImage;
class QPainter;

namespace headwise::ui {

/// What a figure needs to be made again: model, head, processing, scale, …, in the order in which it is written.
using Provenance = QList<std::pair<QString, QString>>;

/// How a figure on paper differs from the same view in the window.
struct FigureStyle {
    QString fontFamily = {}; ///< Empty: the program's.
    double fontSize = 8;     // points
    double lineWidth = 1;    // points, of curves
    bool title = true;
    bool colorBar = true;

    bool operator==(const FigureStyle&) const = default;
};

/// A view that can be taken away as a figure and as its numbers.
class FigureSource {
public:
    virtual ~FigureSource() = default;

    /// Paints the whole figure, one unit of `painter` being one point (1/72 inch), in the light theme.
    virtual void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const = 0;
    /// Calls `writeRow` with the header and then with each row of the numbers shown, C locale.
    virtual void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const = 0;

    void setFigureTitle(const QString& title) { m_title = title; } ///< "L10H7 full OV, processed".
    const QString& figureTitle() const { return m_title; }
    void setProvenance(const Provenance& provenance) { m_provenance = provenance; }
    const Provenance& provenance() const { return m_provenance; }

private:
    QString m_title;
    Provenance m_provenance;
};

enum class FigureFormat { Png, Svg, Pdf, Csv, Tsv };

/// A size, a resolution and a style, remembered as a whole.
struct FigureSettings {
    FigureFormat format = FigureFormat::Pdf;
    double width = 85;             // mm
    double height = 70;            // mm
    int dpi = 300;                 ///< Of PNG.
    bool dataBeside = false;       ///< Also the numbers, as NAME.csv.
    bool provenanceInData = false; ///< Lines starting with "# " before the header; RFC 4180 has no comments.
    FigureStyle style = {};

    bool operator==(const FigureSettings&) const = default;
};

/// One line for the program's settings and the session; reads back as an equal value.
QString text(const FigureSettings& settings);
/// What is not understood keeps its default: a figure's settings are a convenience.
FigureSettings parseFigureSettings(const QString& line);

QString suffixOf(FigureFormat format); ///< "png", …
/// The format that the name's ending asks for. Errors: InvalidArgument, listing the endings we write.
Result<FigureFormat> figureFormatOf(const QString& fileName);

/// Writes `source` to `fileName` in `settings.format`, beside it and renamed, so that a failure leaves an old file as it was.
/// Errors: InvalidArgument (a size that makes no picture), OutOfMemory (too many pixels), Io naming the file and the reason.
Result<Done> exportFigure(const FigureSource& source, const QString& fileName,
                          const FigureSettings& settings);

/// The figure as it will look, `dpi` device pixels per inch.
QImage figureImage(const FigureSource& source, const FigureSettings& settings, int dpi);
/// The figure at its resolution and its SVG, for the clipboard.
void copyFigure(const FigureSource& source, const FigureSettings& settings);

} // namespace headwise::ui
