#pragma once

#include "ui/pages/parts/page.h"
#include "ui/pictures/picture_card.h"

class QGridLayout;
class QLabel;
class QScrollArea;
class QStackedWidget;

namespace headwise::ui {

class AnalysisForm;
class AnalysisHead;
class AnalysisList;
class FigureRow;
class NumbersTable;
class QuestionPanels;

/// Shows any analysis of the catalogue: its description, cost, inputs and pictures.
///
/// The page is driven by the catalogue and the results alone, so a new analysis appears here without further code.
class ResultPage : public Page {
    Q_OBJECT

public:
    explicit ResultPage(Workspace* workspace, QWidget* parent = nullptr);

    void showAnalysis(std::string_view id);
    void showQuestion(const QString& title); ///< All analyses of a question, as panels.
    /// Shows the direction card for a name that readDirection() reads.
    void lookAtDirection(const QString& name);
    void lookAtScore(const QString& prompt, int query,
                     int key); ///< Decomposes the score of two positions of the prompt.
    const Analysis& analysis() const { return *m_analysis; }
    /// Computes it with what the fields say; nothing where it cannot be.
    void run(Runs::Asker asker = Runs::Asker::User);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

signals:
    void viewMade(QWidget* view); ///< A new picture that can be exported.

protected:
    void recompute() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void createPictures();
    void connectSignals();
    void choose(const Analysis* analysis);
    bool showsQuestion() const;
    void showHead();  ///< Shows the analysis, and whether it can run.
    void makeCards(); ///< Makes the cards of the analysis' pictures unless they are already there.
    std::vector<PictureCard*> shownCards() const; ///< All but those that show nothing for the selected head.
    void placeCards();                            ///< In one or two columns.
    void drawVisible();                           ///< Draws the cards on screen.
    void showNumbers();                           ///< Lists the arrays that no picture shows.
    void followSelection();

    const Analysis* m_analysis;
    AnalysisList* m_list;
    AnalysisHead* m_head;
    AnalysisForm* m_form;
    QStackedWidget* m_right; // one analysis, or the panels of a question
    QuestionPanels* m_panels;
    QScrollArea* m_scroll;
    QWidget* m_pictures;
    QGridLayout* m_grid;
    QLabel* m_empty;
    NumbersTable* m_numbers;
    std::vector<PictureCard*> m_cards;
    FigureRow* m_paperFigure = nullptr; // figure made of m_cards, on request
    CardChoices m_choices{[this] { return m_cards; }};
    int m_wantedScroll = -1; // from a session, until the pictures exist
    int m_abreast = 0;
    bool m_runsWhenRead = false; // true while a direction's name is being read
    bool m_lacksHead = false;    // the results do not cover the selected head
    bool m_tokenMoved = false;   // since the session was opened or last shown
};

} // namespace headwise::ui
