#pragma once

#include "core/circuits/circuits.h"
#include "core/model/head_id.h"

#include <QObject>

#include <deque>
#include <optional>
#include <set>

namespace headwise::ui {

class OpenModel;

/// One singular direction of a residual circuit of the selected head. The decomposition leaves its sign open, so the reader
/// chooses it.
struct SingularChoice {
    CircuitKind circuit = CircuitKind::Ov; ///< Ov or Qk
    int index = 0;                         ///< k, from 0
    int sign = 1;                          ///< Factor on the direction whose sign `jointSign` fixes.

    bool operator==(const SingularChoice&) const = default;
};

/// The head, token, reference head, singular direction and rotary offset that all pages show, with a history of the first
/// four.
class Selection : public QObject {
    Q_OBJECT

public:
    /// The part of the selection that the history remembers.
    struct Place {
        HeadId head;
        int token = 0;
        std::optional<HeadId> reference;
        SingularChoice direction;

        bool operator==(const Place&) const = default;
    };

    explicit Selection(const OpenModel* model); ///< `model` says which heads, tokens and offsets there are.

    HeadId head() const { return m_now.head; }
    int token() const { return m_now.token; }
    std::optional<HeadId> reference() const
    {
        return m_now.reference;
    } ///< The head that others are compared with.
    const SingularChoice& direction() const { return m_now.direction; }
    /// Δ = query position − key position of the rotary circuits on screen; 0 in other models.
    int rotaryOffset() const { return m_rotaryOffset; }
    /// The head under the mouse in any picture, which the others light up. The history ignores it.
    std::optional<HeadId> hovered() const { return m_hovered; }

    void setHead(HeadId head); ///< Ignored if the model has no such head.
    /// The same for a head that a person names, who keeps it even if it was selected before.
    void askForHead(HeadId head);
    void setToken(int token);                      ///< Ignored outside the vocabulary.
    void setReference(std::optional<HeadId> head); ///< Ignored if the model has no such head.
    /// Ignored if the index is negative. A head with fewer directions shows its last.
    void setDirection(const SingularChoice& direction);
    void setRotaryOffset(int offset);            ///< Ignored if the model has no such offset.
    void setHovered(std::optional<HeadId> head); ///< None, too, if the model has no such head.

    void goBack(); ///< To the head, token, reference and direction that were selected before.
    void goForward();
    void forgetHistory(); ///< The history begins at the present selection.
    /// Selects a head that nobody asked for; the history begins there. Ignored once anything of this model was chosen.
    void preselectHead(HeadId head);

    // Changes without a signal, for the moment another model takes the place of this one.

    const Place& place() const { return m_now; }
    void setPlace(const Place& place) { m_now = place; }
    void start(int token); ///< Selects head 0.0 and `token`, which nobody chose, with an empty history.
    /// Clears the reference and the direction.
    void clear(int rotaryOffset = 0);
    /// The same selection but for the head. The direction stays the default.
    void copyFrom(const Selection& other, HeadId head);

    // Repeated signals, for pages that read more of the model than the selection.

    void announceHead() { emit headChanged(m_now.head); }
    void announceToken() { emit tokenChanged(m_now.token); }

signals:
    void headChanged(headwise::HeadId head);
    void tokenChanged(int token);
    void referenceChanged();
    void directionChanged(const headwise::ui::SingularChoice& direction);
    void rotaryOffsetChanged();
    void hoveredChanged();

private:
    enum class Part { Head, Token, Reference, Direction };
    void remember(Part part); ///< Records the place before `part` of it changes.
    void go(std::deque<Place>& from, std::deque<Place>& to);

    const OpenModel* m_model;
    Place m_now;
    int m_rotaryOffset = 0;
    std::optional<HeadId> m_hovered;
    std::deque<Place> m_back, m_forward;
    std::set<Part> m_changedNow; // by the present gesture, since a place was last recorded
    bool m_isChosen = false;     // by a person, since start()
};

} // namespace headwise::ui
