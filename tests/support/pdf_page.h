#pragma once

#include <QByteArray>
#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <QString>

#include <vector>

// Reads the pages that QPdfWriter writes, as far as their text goes.

namespace headwise::test {

/// A run of text as it is printed. Places are in points from the top left of the page.
struct PdfText {
    QString text;
    double size = 0;    ///< Size of the type, in points.
    QPointF begin, end; ///< Ends of the baseline.
    QRectF box;         ///< From the descenders to the capitals.
};

struct PdfPage {
    QSizeF size; ///< MediaBox in points; empty if the file could not be read.
    std::vector<PdfText> texts;
    QByteArray unread; ///< The first text operator that the reader does not know.
};

/// Reads the first page.
PdfPage readPdfPage(const QByteArray& pdf);

/// Returns the runs of text of the first page, a line each.
QString textOf(const QByteArray& pdf);

} // namespace headwise::test
