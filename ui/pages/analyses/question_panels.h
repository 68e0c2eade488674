#pragma once

#include "core/results/picture.h"
#include "ui/pages/parts/page.h"
#include "ui/pictures/picture_card.h"

#include <optional>
#include <vector>

class QGridLayout;
class QLabel;
class QScrollArea;

namespace headwise {
struct Analysis;
}

namespace headwise::ui {

class FillButton;

/// All analyses of one question as panels: the most important picture of each, or the button that computes it. A panel's
/// title opens the analysis with its inputs and its other pictures.
class QuestionPanels : public Page {
    Q_OBJECT

public:
    explicit QuestionPanels(Workspace* workspace, QWidget* parent = nullptr);

    /// \param title as questionTitle() returns it; ignored if no question has it
    void showQuestion(const QString& title);
    const QString& question() const { return m_question; } ///< Empty: none was shown.

    ViewFields viewFields() override { return m_choices.viewFields(); }
    QList<FigureSource*> figures() override;

signals:
    void analysisChosen(const headwise::Analysis* analysis);
    void viewMade(QWidget* view); ///< A new picture that can be exported.

protected:
    void recompute() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Panel {
        const Analysis* analysis;
        QWidget* top;     // the title and the button
        QWidget* compute; // place of the button
        QLabel* reason;
        PictureCard* card = nullptr;
    };
    Panel panelOf(const Analysis& analysis);
    void showPicture(Panel& panel, const std::optional<Picture>& picture);
    std::optional<Picture> pictureOf(const Analysis& analysis) const; ///< None: nothing can be drawn.
    QString reasonOf(const Analysis& analysis) const;                 ///< Why there is no picture.
    void place();
    void drawVisible();
    void follow(void (PictureCard::*change)()); ///< Every card is out of date.
    std::vector<PictureCard*> cards() const;

    QString m_question;
    QScrollArea* m_scroll;
    QWidget* m_content;
    QLabel* m_title;
    FillButton* m_fill;
    QGridLayout* m_grid;
    std::vector<Panel> m_panels;
    CardChoices m_choices{[this] { return cards(); }};
};

} // namespace headwise::ui
