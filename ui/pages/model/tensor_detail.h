#pragma once

#include "core/checkpoint/tensor_picture.h"
#include "core/checkpoint/tensor_statistics.h"
#include "ui/base/job.h"

#include <QStringList>
#include <QWidget>

#include <memory>
#include <optional>

class QLabel;
class QPushButton;

namespace headwise::ui {

class HeatmapPanel;
class LineChart;

/// One stored tensor: its numbers, their histogram and a picture, and a button that saves it.
class TensorDetail : public QWidget {
    Q_OBJECT

public:
    explicit TensorDetail(QWidget* parent = nullptr);

    /// Shows a tensor of a file: shape and type at once, the rest when it was read.
    /// \param use the model's use of it
    /// \param known its statistics, if they were read before
    void showTensor(std::shared_ptr<const WeightMap> file, int tensor, const QString& use,
                    const std::optional<TensorStatistics>& known);
    void clear(const QString& message);

    /// Writes the tensor as a NumPy file; `saved` tells the outcome.
    void saveAsNpy(const QString& fileName);

    /// Statistics of the tensor that was read last; nothing if it holds no numbers.
    const std::optional<TensorStatistics>& statistics() const { return m_statistics; }
    HeatmapPanel* panel() const { return m_panel; }
    LineChart* histogram() const { return m_histogram; }
    Job* reading() { return &m_reading; }
    Job* saving() { return &m_saving; }

signals:
    void statisticsRead(int tensor); ///< Index in the file.
    void saved(const QString& outcome);
    void readOutChanged(const QString& text); ///< Text for the position under the mouse; empty for none.

private:
    struct Read {
        std::optional<TensorStatistics> statistics;
        TensorPicture picture;
    };

    void connectSignals();
    void read(const std::optional<TensorStatistics>& known);
    void showRead(const Read& read);
    void showHistogram(const std::optional<TensorStatistics>& statistics);
    void showPicture(const TensorPicture& picture);
    void chooseNpy();
    QString readOut(int row, int column, float value) const;
    QString tensorName() const;

    std::shared_ptr<const WeightMap> m_file; // null without a tensor
    int m_tensor = -1;                       // index in the file
    QStringList m_summary;                   // shape, type and use
    std::optional<TensorStatistics> m_statistics;
    QLabel* m_name;
    QLabel* m_numbers;
    QPushButton* m_save;
    LineChart* m_histogram;
    HeatmapPanel* m_panel;
    TensorPicture m_picture; // without its cells, which the view holds
    Job m_reading, m_saving;
};

} // namespace headwise::ui
