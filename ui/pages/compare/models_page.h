#pragma once

#include "ui/pages/parts/page.h"
#include "ui/pictures/picture_card.h"

#include <vector>

class QBoxLayout;
class QLabel;
class QPushButton;
class QScrollArea;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// Changes between the open model and a newer one, head by head: the most changed heads, how W_OV and W_QK moved, new
/// directions, and the tokens that entered the selected head's tables.
class ModelsPage : public Page {
    Q_OBJECT

public:
    explicit ModelsPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open session; empty if it has, or can have.
    static QString whyNot(const Workspace& workspace);

    ViewFields viewFields() override { return m_choices.viewFields(); }
    QList<FigureSource*> figures() override;

signals:
    void modelWanted();                      ///< The user wants to choose the newer one's folder.
    void modelFileWanted();                  ///< The user wants to choose the newer model's single file.
    void viewMade(QWidget* view);            ///< A new picture that can be exported.
    void pageRequested(const QString& name); ///< "compare": show the selected head in both models.

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void createLayout();
    void connectSignals();
    void recompute() override;
    void arrangeTop();      ///< Puts the buttons beside the sentence, or in a narrow page below it.
    bool isMatched() const; ///< True if the two models differ in kind or size.
    void showHeads();
    void showMatches();
    void showTokens(); ///< Shows the selected head's tokens.
    void makeCards();
    void followHead();
    void drawVisible();

    QBoxLayout* m_top = nullptr; // holds m_state and the buttons
    QLabel* m_state;
    QPushButton* m_choose;
    QPushButton* m_chooseFile;
    QPushButton* m_circuits; // opens the page with both circuits
    QScrollArea* m_scroll;
    QWidget* m_pictures;
    QLabel* m_headsTitle;
    QStandardItemModel* m_headModel;
    TableFigure* m_heads;
    QLabel* m_tokensTitle;
    QStandardItemModel* m_tokenModel;
    TableFigure* m_tokens;
    std::vector<HeadId> m_headOfRow;
    std::vector<PictureCard*> m_cards;
    CardChoices m_choices{[this] { return m_cards; }};
    bool m_cardsAreMatches = false;
};

} // namespace headwise::ui
