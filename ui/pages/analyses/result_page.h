#pragma once

#include "ui/pages/parts/page.h"

class QGridLayout;
class QLabel;
class QPushButton;
class QScrollArea;

namespace headwise::ui {

class AnalysisForm;
class AnalysisList;
class NumbersTable;
class FigureRow;
class PictureCard;

/// Every analysis of the catalogue: what it is, what it costs, what it is asked about, and its pictures.
///
/// Driven by the catalogue and the results alone, so that an analysis that is added there is at once on this page.
class ResultPage : public Page {
    Q_OBJECT

public:
    explicit ResultPage(Workspace* workspace, QWidget* parent = nullptr);

    void showAnalysis(std::string_view id);
    void lookAtDirection(const QString& name); ///< The direction card of what readDirection() reads.
    void lookAtScore(const QString& prompt, int query,
                     int key); ///< Taken apart; two positions of the prompt.
    const Analysis& analysis() const { return *m_analysis; }
    /// Computes it with what the fields say; nothing where it cannot be.
    void run(Runs::Asker asker = Runs::Asker::User);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

signals:
    void viewMade(QWidget* view); ///< A picture that can be exported, made just now.

protected:
    void recompute() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* createHead();
    void createPictures();
    void connectSignals();
    void choose(const Analysis* analysis);
    void showHead();  ///< The analysis, and whether it can be run.
    void makeCards(); ///< Makes the cards of the analysis' pictures unless they are already there.
    std::vector<PictureCard*> shownCards() const; ///< Without those that say nothing of the selected head.
    void placeCards();                            ///< One or two abreast.
    void drawVisible();                           ///< Draws the cards on screen.
    void showNumbers();                           ///< The arrays that no picture shows.
    void followSelection();
    bool isStale() const;             ///< Computed, but about other inputs.
    bool isOtherwiseFiltered() const; ///< Computed, but of other tokens than are looked at now.
    QString staleText() const;        ///< Empty where what is shown is what is asked.
    QString missingText() const;      ///< Why pictures of the selected head are absent.
    QString costText() const;
    QString metricText() const; ///< How what is shown measures lengths; empty where it does not.

    const Analysis* m_analysis;
    AnalysisList* m_list;
    AnalysisForm* m_form;
    QLabel* m_title;
    QLabel* m_formula;
    QLabel* m_citation;
    QLabel* m_cost;
    QLabel* m_state;
    QPushButton* m_run;
    QPushButton* m_verify;
    QScrollArea* m_scroll;
    QWidget* m_pictures;
    QGridLayout* m_grid;
    QLabel* m_empty;
    NumbersTable* m_numbers;
    std::vector<PictureCard*> m_cards;
    FigureRow* m_paperFigure = nullptr; // of m_cards, once it was asked for
    int m_wantedScroll = -1;            // of a session, until the pictures are there
    int m_abreast = 0;
    bool m_runsWhenRead = false; // the direction that is being read
    bool m_lacksHead = false;    // what is there says nothing of the selected head
    bool m_tokenMoved = false;   // since the session was opened, or the last look
};

} // namespace headwise::ui
