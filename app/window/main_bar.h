#pragma once

#include <QToolBar>

class QComboBox;
class QLineEdit;

namespace headwise::ui {
class TokenEdit;
class Workspace;
} // namespace headwise::ui

namespace headwise::app {

class Actions;
class Saving;

/// The tool bar: the selected head, the search for tokens, and the embedding and weights that circuits are made of.
class MainBar : public QToolBar {
    Q_OBJECT

public:
    MainBar(ui::Workspace* workspace, Saving* saving, QWidget* parent);

    void arrange(const Actions& actions); ///< Puts everything in its place, among the actions. Once.
    void refresh();                       ///< Shows the present selection.

    QLineEdit* headEdit() const { return m_headEdit; }
    ui::TokenEdit* search() const { return m_search; }

private:
    ui::Workspace* m_workspace;
    QLineEdit* m_headEdit;
    ui::TokenEdit* m_search;
    QComboBox* m_embedding;
    QComboBox* m_processing;
};

} // namespace headwise::app
