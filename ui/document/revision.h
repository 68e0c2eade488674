#pragma once

#include <QtGlobal>

#include <algorithm>

namespace headwise::ui {

/// Counts changes. A save knows which of them it wrote: what changed while it ran stays unsaved.
struct Revision {
    quint64 made = 0, saved = 0;

    bool isUnsaved() const { return made != saved; }
    void change() { ++made; }
    void keep(quint64 upTo) { saved = std::max(saved, upTo); }
    void forget() { saved = made; }
};

} // namespace headwise::ui
