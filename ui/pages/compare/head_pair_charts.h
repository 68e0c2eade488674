#pragma once

#include <QString>
#include <QTabWidget>

namespace headwise {
struct HeadPair;
}

namespace headwise::ui {

class LineChart;

/// Singular values of two heads, and the principal angles between the subspaces they read and write.
class HeadPairCharts : public QTabWidget {
    Q_OBJECT

public:
    explicit HeadPairCharts(QWidget* parent = nullptr);

    /// The two heads' names, and the circuit whose sides the angles are named after.
    struct Names {
        QString first, second;
        bool isQk = false;
    };
    void setPair(const HeadPair& pair, const Names& names);
    void clear();
    LineChart* spectra() const { return m_spectra; }
    LineChart* angles() const { return m_angles; }

signals:
    void readOutChanged(const QString& text);

private:
    void connectCharts();

    LineChart* m_spectra;
    LineChart* m_angles;
};

} // namespace headwise::ui
