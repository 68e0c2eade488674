#pragma once

#include "app/window/window_part.h"
#include "ui/pages/parts/fill_button.h"

#include <QStringList>

#include <filesystem>
#include <functional>

namespace headwise {
struct ModelSource;
}

namespace headwise::app {

class Saving;
class WindowSettings;

/// Opens, reloads and closes models and sessions, and chooses the files that go with them.
class Opening : public WindowPart {
    Q_OBJECT

public:
    Opening(QMainWindow* window, ui::Workspace* workspace, WindowSettings* settings, Saving* saving);

    /// A model folder or file, a session or a series; its content decides. Offers to compute a folder of checkpoints.
    /// \param path as placeOf() reads it
    void openPath(const QString& path);
    /// The same. Calls `begun` after begins(), that is never if the user keeps what is open.
    void openPathFor(const QString& path, const std::function<void()>& begun);
    /// Asks about unsaved notes and drops what earlier openings still had to show; then calls `open`.
    void begin(const std::function<void()>& open);
    void openDemo();
    void chooseFolder();
    void chooseFile();
    void chooseAdapter(); ///< An adapter's folder: opens it as the newer model of its base, if one is open.
    void chooseSeries();  ///< A file that `headwise series` wrote.
    void chooseSeriesFolder();           ///< A folder of checkpoints, to be computed.
    void chooseFromCache();              ///< A model in the Hugging Face cache.
    void openStack(const QString& name); ///< Another stack of the open model (ModelConfig::stacks).
    void reload();
    void closeModel();

    void fill(ui::FillButton::Lack lack); ///< Chooses the files that are lacking.
    void locateModel();
    void locateModelFile();
    void addTokenizer();

    void chooseComparison();
    void chooseComparisonFile();
    void compareWith(const QString& path); ///< A newer model.

    bool isEmpty() const; ///< Nothing is open or being opened.
    /// Returns the view to restore after a reload; empty: none, or the reload is still to come.
    QString takeViewState();

signals:
    void begins(); ///< An opening or a reload; no earlier one has anything left to show.
    void comparisonChosen();
    void failed(const QString& message); ///< While nothing is open, so that no box is needed.

private:
    void openStackOf(ModelSource source, const QString& stack); ///< Empty: the usual one.
    bool canCompare();                                          ///< Says so if not.
    void makeSeries(const std::filesystem::path& folder);       ///< Asks where to write it first.
    void sayHowToGoOn(const QString& partialFile);              ///< With a series that was stopped.
    void reopen(const ModelSource& complete);                   ///< With what its files did not state.
    void showFailure(const QString& message);

    WindowSettings* m_settings;
    Saving* m_saving;
    QString m_viewToRestore;
};

} // namespace headwise::app
