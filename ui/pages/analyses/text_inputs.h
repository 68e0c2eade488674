#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

#include <array>

class QFormLayout;
class QLabel;
class QPushButton;

namespace headwise::ui {

/// An optional file: its state, a button to choose one, and one to remove it. Accepts drops.
class InputFile : public QWidget {
    Q_OBJECT

public:
    /// \param title of the dialog and in the buttons \param filter of the dialog
    InputFile(const QString& title, const QString& filter, QWidget* parent);

    void say(const QString& state, bool isGiven);

signals:
    void chosen(const QString& file); ///< Empty: removed.

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    QLabel* m_state;
    QPushButton* m_clear;
};

/// Inputs from the user's files: counts of tokens and of token pairs in a text, a list of words, and pairs of words.
class TextInputs : public QObject {
    Q_OBJECT

public:
    enum Kind { Tokens, Bigrams, Names, Relations };

    /// \param rows receives one row per file
    TextInputs(Workspace* workspace, QFormLayout* rows, QWidget* parent);

    void setNeeds(const Analysis& analysis);   ///< Shows only the inputs it uses.
    void load(Kind kind, const QString& file); ///< Loads into the workspace's inputs; empty: removes.

signals:
    void loaded();                      ///< The workspace's inputs have changed.
    void said(const QString& sentence); ///< Why a file was not read, or which parts were ignored.

private:
    void showFiles();
    void give(Kind kind, const AnalysisInputs& read, const QString& file);

    Workspace* m_workspace;
    QFormLayout* m_rows;
    std::array<InputFile*, 4> m_files;
    std::array<Job, 4> m_jobs;
    QString m_namesFile, m_relationsFile;
};

} // namespace headwise::ui
