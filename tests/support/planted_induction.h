#pragma once

#include "tests/support/dense_algebra.h"
#include "tests/support/planted.h"

#include <cmath>
#include <random>

namespace headwise::test {

/// Layer 0: 0.3 is the previous-token head, and 0.5 writes to a place of its own without being one. Layer 1: 1.2 is the
/// induction head;
/// 1.4 is the same without copying, 1.6 copies without matching, 1.1 does everything after 0.5. The rest is small noise.
struct PlantedInduction {
    static constexpr int nHeads = 16, dHead = 8, dModel = 96, nPositions = 24;
    static constexpr HeadId previous{0, 3}, notPrevious{0, 5}, induction{1, 2}, noCopying{1, 4},
        noMatching{1, 6}, afterNotPrevious{1, 1};

    PlantedModel model;
    Matrix<double> basis = orthonormalColumns(dModel, dModel, 5);
    Matrix<double> tokens = basis.leftCols(40);
    Matrix<double> positions = basis.middleCols(40, dHead);
    Matrix<double> place = basis.middleCols(48, dHead);      // where 0.3 writes
    Matrix<double> otherPlace = basis.middleCols(56, dHead); // where 0.5 writes
    Matrix<double> elsewhere = basis.middleCols(64, dHead);

    static ToyOptions options(unsigned seed)
    {
        ToyOptions options = plantedOptions();
        options.seed = seed;
        options.dModel = dModel;
        options.dHead = dHead;
        options.nHeads = nHeads;
        options.dVocab = 40;
        options.nCtx = nPositions;
        return options;
    }

    /// \param noise of every weight of the heads, relative to the planted ones
    explicit PlantedInduction(double noise, unsigned seed = 1)
        : model(options(seed))
        , m_noise(noise)
        , m_random(seed)
    {
        model.set("embed.W_E", tokens.transpose());
        model.set("unembed.W_U", tokens);
        model.set("pos_embed.W_pos", waves() * positions.transpose());
        const Matrix<double> read = tokens.leftCols(dHead);
        const Matrix<double> copied = tokens.rightCols(dHead);
        Matrix<double> quarter = Matrix<double>::Zero(dHead, dHead);
        for (int i = 0; i < dHead; i += 2)
            quarter(i, i + 1) = -(quarter(i + 1, i) = 1);
        const Matrix<double> nothing = Matrix<double>::Zero(dModel, dHead);
        for (int head = 0; head < nHeads; ++head) {
            plant({0, head}, {elsewhere, elsewhere, elsewhere, nothing});
            plant({1, head}, {elsewhere, elsewhere, elsewhere, nothing});
        }
        plant(previous, {8 * positions * oneStep(), positions, read, place});
        plant(notPrevious, {elsewhere, elsewhere, read, otherPlace});
        plant(induction, {read, place, copied, copied});
        plant(noCopying, {read, place, copied, elsewhere});
        plant(noMatching, {read * quarter, place, copied, copied});
        plant(afterNotPrevious, {read, otherPlace, copied, copied});
    }

private:
    struct Head {
        Matrix<double> Q, K, V, O; // all [d, r]
    };

    /// cos and sin of four frequencies, [n, r].
    static Matrix<double> waves()
    {
        Matrix<double> waves(nPositions, dHead);
        for (int i = 0; i < nPositions; ++i) {
            for (Eigen::Index k = 0; k < dHead / 2; ++k) {
                waves(i, 2 * k) = std::cos(i * frequency(k));
                waves(i, 2 * k + 1) = std::sin(i * frequency(k));
            }
        }
        return waves;
    }

    static double frequency(Eigen::Index k) { return 2.4 / static_cast<double>(k + 1); }

    /// Turns the waves of position i into those of i − 1.
    static Matrix<double> oneStep()
    {
        Matrix<double> step = Matrix<double>::Zero(dHead, dHead);
        for (Eigen::Index k = 0; k < dHead / 2; ++k) {
            const double c = std::cos(frequency(k));
            const double s = std::sin(frequency(k));
            step.block(2 * k, 2 * k, 2, 2) << c, -s, s, c;
        }
        return step;
    }

    Matrix<double> noisy(const Matrix<double>& m)
    {
        std::normal_distribution<double> normal(0, m_noise / std::sqrt(dModel));
        return m + Matrix<double>::NullaryExpr(m.rows(), m.cols(), [&] { return normal(m_random); });
    }

    void plant(HeadId id, const Head& head)
    {
        model.set("W_Q", id, noisy(head.Q));
        model.set("W_K", id, noisy(head.K));
        model.set("W_V", id, noisy(head.V));
        model.set("W_O", id, noisy(head.O).transpose());
    }

    double m_noise;
    std::mt19937 m_random;
};

} // namespace headwise::test
