#pragma once

#include "core/base/matrix.h"
#include "core/results/numbers.h"
#include "core/results/results.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// The sines and cosines of a cycle of N tokens: an orthonormal basis of all its functions with mean 0.
class CycleWaves {
public:
    explicit CycleWaves(int length);

    int length() const { return static_cast<int>(m_basis.cols()); }
    int frequencies() const { return length() / 2 + 1; } ///< 0 to ⌊N/2⌋ turns per cycle.
    /// Frequency of a row of of().
    static Eigen::Index frequencyOf(Eigen::Index wave) { return wave / 2 + 1; }

    /// Coefficients of the columns of `rows` in the basis, [N − 1, columns]. \param rows [N, columns], row t for place t
    Matrix<double> of(const Matrix<double>& rows) const { return m_basis * rows; }
    /// Power of each frequency in X, [⌊N/2⌋ + 1], where X Xᵀ = A G Aᵀ. Frequency 0 has none, because X is taken less its mean.
    /// \param waves of(A), [N − 1, r] \param gram G, [r, r]
    Eigen::VectorXd power(const Matrix<double>& waves, const Matrix<double>& gram) const;

private:
    Matrix<double> m_basis; // [N − 1, N]: cos 1, sin 1, cos 2, …; for even N the last is the cosine of N/2
};

inline constexpr int cycleShuffles = 200; ///< Random orders of the ids.

/// Returns random orders of the places of a cycle. The same seed gives the same orders on every machine.
std::vector<std::vector<int>> shuffledCycles(int length, std::uint64_t seed);

/// Spectra over the cycle of one matrix per head, or of one matrix of the model, with their null: the ids in random order.
class CycleSpectra {
public:
    /// Arrays of the spectra of one matrix. \param path begins their paths \param axes those of the matrices; empty: one
    /// \param of the matrix in titles \param formula its rows, in definitions
    static std::vector<ArraySpec> specs(const std::string& path, const std::vector<ArrayAxis>& axes,
                                        const std::string& of, const std::string& formula,
                                        const std::string& condition = {});

    /// \param shape of the matrices; empty: one
    CycleSpectra(const std::vector<std::size_t>& shape, int frequencies);

    /// \param power of each frequency \param shuffled the same for each random order
    void set(std::size_t matrix, const Eigen::VectorXd& power, const std::vector<Eigen::VectorXd>& shuffled);
    /// \param length of the cycle
    void put(Results& results, const std::string& path, int length) const;

private:
    std::optional<double> largestNull() const; ///< Mean over the matrices; none without any.

    RealNumbers m_shares, m_explained, m_explainedNull, m_largest, m_chance;
    WholeNumbers m_strongest;
};

} // namespace headwise
