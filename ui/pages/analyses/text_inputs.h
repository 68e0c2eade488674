#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

#include <array>

class QFormLayout;
class QLabel;
class QPushButton;

namespace headwise::ui {

/// A file that may be given: what is known of it, a button that chooses one, and one that forgets it. Takes drops.
class InputFile : public QWidget {
    Q_OBJECT

public:
    /// \param title of the dialog, and what the buttons are about \param filter of the dialog
    InputFile(const QString& title, const QString& filter, QWidget* parent);

    void say(const QString& state, bool isGiven);

signals:
    void chosen(const QString& file); ///< Empty: none any more.

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    QLabel* m_state;
    QPushButton* m_clear;
};

/// Inputs that analyses take from the user's files: counts of tokens and of pairs of tokens in a text, and a list of words.
class TextInputs : public QObject {
    Q_OBJECT

public:
    enum Kind { Tokens, Bigrams, Names };

    /// \param rows gets a row for each of the files
    TextInputs(Workspace* workspace, QFormLayout* rows, QWidget* parent);

    void setNeeds(const Analysis& analysis);   ///< Only what it takes is shown.
    void load(Kind kind, const QString& file); ///< Into the workspace's inputs; empty: none any more.

signals:
    void loaded();                      ///< The workspace's inputs have changed.
    void said(const QString& sentence); ///< Why a file was not read, or what of it counts for nothing.

private:
    void showFiles();
    void give(Kind kind, const AnalysisInputs& read, const QString& file);

    Workspace* m_workspace;
    QFormLayout* m_rows;
    std::array<InputFile*, 3> m_files;
    std::array<Job, 3> m_jobs;
    QString m_namesFile;
};

} // namespace headwise::ui
