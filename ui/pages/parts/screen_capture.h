#pragma once

#include "core/session/screen.h"
#include "ui/figures/figure_recording.h"

#include <functional>
#include <string>
#include <vector>

namespace headwise::ui {

/// Takes down the numbers of the pictures on the screen, so that a session can show them without the model's files.
class ScreenCapture {
public:
    /// Adds the pictures of a page. Must run on the window's thread.
    /// \param head "1.5", or empty for pictures of no head
    void add(const QString& page, const QList<FigureSource*>& figures, const std::string& head);

    /// Returns a function that reads the numbers; it may be called on any thread.
    std::function<std::vector<ScreenPicture>()> taken() const;

private:
    struct Rows {
        QStringList header;
        std::vector<QStringList> rows;
        qsizetype count = 0; // of all, with those left out
    };
    struct Shown {
        ScreenPicture picture; // without its numbers
        std::function<Rows()> read;
    };
    static std::function<Rows()> reader(const FigureSource& figure);
    static Rows collected(const DataRows& rows);
    static ScreenPicture filled(const Shown& shown);
    static void fillMatrix(ScreenPicture& picture, const Rows& rows);
    static void fillTable(ScreenPicture& picture, const Rows& rows);

    std::vector<Shown> m_shown;
};

} // namespace headwise::ui
