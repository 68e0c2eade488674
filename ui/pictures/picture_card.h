#pragma once

#include "ui/pictures/picture_body.h"

#include <QSet>

#include <functional>
#include <utility>
#include <vector>

class QLabel;

namespace headwise::ui {

class Workspace;

/// One picture of an analysis with its title, its random baseline and its note.
///
/// It is drawn when it is first seen or asked for, not before: cutting a large array takes a moment.
class PictureCard : public QWidget {
    Q_OBJECT

public:
    PictureCard(Workspace* workspace, const Picture& picture, QWidget* parent = nullptr);

    const Picture& picture() const { return m_picture; }
    bool isWide() const; ///< Whether it wants the whole width.
    void fillPlace();    ///< The picture takes the height that the card has, and not its own.
    /// The choices in the boxes over the picture, for a session; empty: none was made.
    QJsonObject choices() const;
    void choose(const QJsonObject& choices); ///< Now, or as soon as it is drawn.

    void markStale() { m_isStale = true; } ///< Other results.
    void changeHead();                     ///< Another head or reference is selected.
    bool ensureCurrent();                  ///< Whether there was something to draw.

    /// Returns its views that can be exported, each with its subject.
    std::vector<std::pair<QWidget*, QString>> figures();
    std::optional<HeadId> headOf(const QWidget* figure) const; ///< None: it shows all heads, or no head.

    /// The name under which `headwise export --view` draws the figure, with the card's choices; empty where there is none.
    QString viewNameOf(const QWidget* figure) const;

signals:
    void readOutChanged(const QString& text);
    void viewMade(QWidget* view); ///< A view that can be exported; once for each.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void followSelection();
    void mark(void (PictureBody::*what)()); ///< At the window's selection.
    void showWords();                       ///< Updates the caption and announces new views.
    void guardWheel();

    Workspace* m_workspace;
    Picture m_picture;
    PictureBody* m_body;
    QLabel* m_caption;
    QString m_null;
    QJsonObject m_wanted; // until it is drawn
    QSet<QWidget*> m_announced;
    bool m_isStale = true;
    bool m_headChanged = false;
};

/// The choices in the boxes over the cards of a page, for a session. Restored ones wait for their card.
class CardChoices {
public:
    explicit CardChoices(std::function<std::vector<PictureCard*>()> cards)
        : m_cards(std::move(cards))
    {
    }

    void give(PictureCard* card); ///< Gives a new card what was restored for it.
    ViewFields viewFields();

private:
    std::function<std::vector<PictureCard*>()> m_cards;
    QJsonObject m_waiting; // by the names of the pictures on the command line
};

/// Draws the cards within `seen` that are out of date. \returns whether any was drawn
bool drawCardsIn(const QRect& seen, const std::vector<PictureCard*>& cards);

} // namespace headwise::ui
