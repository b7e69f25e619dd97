"""Break the package in one place at a time, and see which test notices.

    python tests/mutations.py            all mutations
    python tests/mutations.py hinge gap  those with one of these words in their name
    python tests/mutations.py --part 1/3 the first, fourth, seventh ...

Each mutation replaces a text of a file, in a copy of the project, by another. The tests
that are most likely to notice run first, then all others, up to the first failure; on
NumPy and on the compiled engine's loops as they stand. A table says what noticed. The
exit status is 1 if a mutation survives, and 2 if the text that it replaces is not
there (once): then the mutation has to follow the code.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COPIED = ("sklearn_scinol", "tests", "examples", "doc", "pyproject.toml", "README.md")
# Slow, or not about formulas, loops and validation.
LEFT_OUT = ("engines/test_compiled.py", "engines/test_engines.py", "examples/*.py")
LEFT_OUT += ("estimators/test_sklearn_interop.py", "learners/test_real_data.py")
LEFT_OUT += ("package/test_docs.py", "package/test_numbers.py")
LEFT_OUT += ("package/test_package.py", "package/test_release.py", "papers/*.py")


class Mutation(NamedTuple):
    """A text of a file, what replaces it, and the tests that should notice."""

    name: str
    file: str  # below the package
    old: str
    new: str
    first: str  # the tests that are most likely to notice: a file, words in their names


MUTATIONS = [
    # Intervals.
    Mutation(
        "an end that is the target itself is corrected",
        "learners/interval_ends.py",
        "1.0 * (error != end)",
        "1.0",
        "intervals not_move_it",
    ),
    Mutation(
        "ends of intervals may cross",
        "learners/interval_ends.py",
        "ends[i], ends[k] = smaller(ends[i], middle), larger(ends[k], middle)",
        "middle",
        "intervals coverage_bound or reference",
    ),
    Mutation(
        "steps of ends do not look at the largest weight so far",
        "learners/interval_ends.py",
        "    return c / s.weights[1]",
        "    return c / s.weights[0]",
        "intervals reference",
    ),
    Mutation(
        "intervals learn the error of the first row, which nothing predicted",
        "conformal/base.py",
        "n_unpredicted = np.argmax(weights > 0.0) + 1",
        "n_unpredicted = np.argmax(weights > 0.0)",
        "intervals reference",
    ),
    Mutation(
        "ends of intervals are not restored",
        "conformal/levels.py",
        "                state[:] = numbers",
        "                pass",
        "intervals failure",
    ),
    Mutation(
        "standard deviations leave out how the experts differ",
        "mixtures/model.py",
        "np.sqrt(sums[:, 1:] / weight + spread)",
        "np.sqrt(sums[:, 1:] / weight)",
        "hedge standard_deviations",
    ),
    # Sets of labels.
    Mutation(
        "a class is in sets at its first row",
        "conformal/classifier.py",
        "is_first.argmax() + 1 if is_first.any()",
        "is_first.argmax() if is_first.any()",
        "sets new_classes",
    ),
    Mutation(
        "sets of a level need not contain those of lower levels",
        "engines/numba_engine/intervals.py",
        "                    out[r, i] = larger(out[r, i], out[r, i - 1])",
        "                    out[r, i] = larger(out[r, i], out[r, i])",
        "sets reference",
    ),
    Mutation(
        "a failed call leaves the correction of sets",
        "conformal/classifier.py",
        "        rollbacks.append(thresholds.checkpoint())\n",
        "",
        "sets failure",
    ),
    # Late labels.
    Mutation(
        "a row is learned right before the row that it should come after",
        "evaluation/late.py",
        "        after = np.arange(n - _n_rows(due), n) + 0.5",
        "        after = np.arange(n - _n_rows(due), n) - 0.5",
        "delay every_learner",
    ),
    Mutation(
        "rows that wait in progressive validation are no copies",
        "evaluation/late.py",
        "deepcopy(block[n_removed:])",
        "block[n_removed:]",
        "delay reused",
    ),
    Mutation(
        "predictions are scored as if classes had been known that came later",
        "evaluation/late.py",
        "            if learner.classes is not classes:",
        "            if False:",
        "delay come_late",
    ),
    Mutation(
        "the youngest row is dropped instead of the oldest",
        "estimators/late_labels.py",
        "next(iter(self._waiting))",
        "next(reversed(self._waiting))",
        "late_labels oldest",
    ),
    Mutation(
        "rows that wait under keys are no copies",
        "estimators/late_labels.py",
        "        x = _copied(x)\n        if self.rows",
        "        if self.rows",
        "late_labels copied",
    ),
    # Alarms.
    Mutation(
        "blocks bring twice the wealth",
        "evaluation/betting.py",
        "self.wealth + BLOCK_ROWS * SHARES",
        "self.wealth + 2 * BLOCK_ROWS * SHARES",
        "alarms naive or martingale",
    ),
    Mutation(
        "ties among block means count half instead of at random",
        "evaluation/betting.py",
        "n_greater + theta * n_equal",
        "n_greater + 0.5 * n_equal",
        "alarms naive or martingale",
    ),
    Mutation(
        "ranks after an alarm are still among all before",
        "evaluation/monitor.py",
        "self.ranks, self.bets = Ranks(), Bets()\n        return",
        "self.bets = Bets()\n        return",
        "alarms afresh",
    ),
    # Compiling ahead.
    Mutation(
        "a process does not remember what it compiled ahead",
        "estimators/rehearsal.py",
        "    if key in _keys:",
        "    if False:",
        "compiling once_ahead",
    ),
    Mutation(
        "what a process remembers is not bounded",
        "estimators/rehearsal.py",
        "        _keys.clear()",
        "        pass",
        "compiling bounded",
    ),
    Mutation(
        "a loaded model that learns single rows does not compile ahead",
        "estimators/rows.py",
        "                estimator._compile_ahead(chunk_of(x))",
        "                pass",
        "compiling loaded",
    ),
    Mutation(
        "a few rows decide the kinds of columns in compiling ahead",
        "cli/compile.py",
        "    encoder.set_params(kinds=kinds)",
        "    pass",
        "command_line whole_chunk",
    ),
    # Learners and losses from outside.
    Mutation(
        "the digest forgets functions that are compiled by themselves",
        "engines/numba_engine/compiling.py",
        "        return known_parts[value].digest",
        '        return ""',
        "engines digest_follows",
    ),
    Mutation(
        "a value is read after a call has changed it",
        "engines/numba_engine/flattening/writer.py",
        "and value.id not in self._fleeting | {*varying}",
        "",
        "flattening states",
    ),
    Mutation(
        "operands are not kept while a later one is evaluated",
        "engines/numba_engine/flattening/expressions.py",
        "values = [self.kept(each) for each in values]",
        "pass",
        "flattening states",
    ),
    Mutation(
        "assigned parameters are not copied",
        "engines/numba_engine/flattening/flattener.py",
        "if scope.source.n_assigned[name] and is_number(value):",
        "if False:",
        "flattening numbers",
    ),
    Mutation(
        "an int stays an int",
        "_hyperparameters.py",
        "isinstance(default, int) else float(given)",
        "isinstance(default, int) else given",
        "outside int_is_a_float",
    ),
    Mutation(
        "a learner that lacks something is let in",
        "estimators/baseline.py",
        "        check_is_learner(learner)\n",
        "",
        "outside lacks",
    ),
    Mutation(
        "a loss of numbers is let into classifiers",
        "estimators/validation.py",
        "if bool(self.loss.is_classification) != is_classifier(self):",
        "if False:",
        "outside refused",
    ),
    Mutation(
        "models forget the type of a loss from outside",
        "models/online.py",
        "if not is_native(type(self.loss)):",
        "if False:",
        "outside copies_go_on",
    ),
    Mutation(
        "the checks compare no regret with its bound",
        "checks.py",
        "if has.bounds_regret:",
        "if False:",
        "checks broken_learner",
    ),
    Mutation(
        "the checks try no powers of two",
        "checks.py",
        "integers(-300, 301, size=N_FEATURES)",
        "integers(0, 1, size=N_FEATURES)",
        "checks broken_learner",
    ),
    # Formulas of learners.
    Mutation(
        "ScInOL2 bets less",
        "learners/scinol2.py",
        "(0.5 * s.eta[i] * inverse)",
        "(0.4 * s.eta[i] * inverse)",
        "naive_agreement scinol2 and dense",
    ),
    Mutation(
        "ScInOL2 forgets the row's own value",
        "learners/scinol2.py",
        "s.M[i] = larger(s.M[i], np.abs(x))",
        "s.M[i] = larger(s.M[i], np.abs(gx))",
        "naive_agreement scinol2 and dense",
    ),
    Mutation(
        "ScInOL2's bound grows less",
        "learners/scinol2.py",
        "growth = 2 * np.log(",
        "growth = np.log(",
        "naive_agreement scinol2 and dense",
    ),
    Mutation(
        "a learner says it is not scale-invariant",
        "learners/nag.py",
        "scale_invariant = True",
        "scale_invariant = False",
        "learners traits",
    ),
    Mutation(
        "a projection takes the norm before it was shrunk",
        "learners/bases/mirror_descent.py",
        "step * (2.0 * shrink * p + step * q)",
        "step * (2.0 * p + step * q)",
        "implicit lambda_and_delta",
    ),
    Mutation(
        "AdaImplicit adds up half of the decreases",
        "learners/implicit.py",
        "decrease / self.beta / self.beta, MAX_LAMBDA",
        "0.5 * decrease / self.beta / self.beta, MAX_LAMBDA",
        "naive_agreement adaimplicit and dense",
    ),
    Mutation(
        "a sum of weights waits a trial too long",
        "learners/bases/averaging.py",
        "(clock - last[i]) * w",
        "(clock - last[i] + 1.0) * w",
        "naive_agreement average-dense",
    ),
    Mutation(
        "a clock restarts a hundred times too late",
        "learners/bases/averaging.py",
        "clock[0, k] > MAX_TICK",
        "clock[0, k] > 1e300 * MAX_TICK",
        "implicit fold_their_scale or small_scale",
    ),
    Mutation(
        "a row takes too much of the covariance",
        "learners/online_newton.py",
        "taken = h * flatness",
        "taken = h",
        "online_newton least_squares",
    ),
    Mutation(
        "moments are not matched",
        "learners/online_newton.py",
        "if self.moderate and q > MAX_NARROW_VARIANCE:",
        "if False:",
        "online_newton matched",
    ),
    Mutation(
        "the triangle's rows mix up",
        "_portable.py",
        "P -= scaled[rows] * scaled[columns]",
        "P -= scaled[rows] * scaled[rows]",
        "online_newton least_squares",
    ),
    Mutation(
        "the prior changes with the units",
        "learners/online_newton.py",
        "A.flat[:: n + 1] -= left[k] / prior",
        "pass",
        "naive_agreement online_newton",
    ),
    Mutation(
        "targets change their unit, weights do not",
        "learners/online_newton.py",
        "b = weight * of_target * (slope * b",
        "b = weight * (slope * b",
        "online_newton ridge_of",
    ),
    Mutation(
        "forgetting knows no end",
        "learners/online_newton.py",
        "growth = smaller(1.0 / (1.0 - learner.forgetting), s.initial_trace[k] / left)",
        "growth = 1.0 / (1.0 - learner.forgetting)",
        "naive_agreement online_newton",
    ),
    Mutation(
        "moments move with each row",
        "models/newton.py",
        "self.next_change = self.t + max(1, self.t // 2)",
        "self.next_change = self.t + 1",
        "naive_agreement online_newton",
    ),
    # Losses.
    Mutation(
        "hinge without slope at its kink",
        "losses/classification.py",
        "(y * p <= 1.0 + ROUNDING_SHARE)",
        "(y * p < 1.0)",
        "losses",
    ),
    Mutation(
        "rounding decides on the side of a kink",
        "losses/methods.py",
        "abs(p - minimiser(loss, y, p)) < ROUNDING_SHARE * size",
        "False",
        "ties",
    ),
    Mutation(
        "rounding tells experts apart",
        "_portable.py",
        "return d * (np.abs(d) >= ROUNDING_SHARE * larger(np.abs(a), np.abs(b)))",
        "return d",
        "mixtures units",
    ),
    Mutation(
        "quantiles the wrong way round",
        "losses/regression.py",
        "(1.0 - self.quantile) * (p > y) - self.quantile * (p < y)",
        "self.quantile * (p > y) - (1.0 - self.quantile) * (p < y)",
        "losses",
    ),
    Mutation(
        "quantiles cross",
        "estimators/regressor.py",
        "return np.sort(decision, axis=1)",
        "return decision",
        "quantiles",
    ),
    Mutation(
        "one quantile stays behind when rows are restored",
        "models/quantiles.py",
        "return [undo for each in self._prepared for undo in each._rollbacks()]",
        "return [undo for each in self._prepared[:1] for undo in each._rollbacks()]",
        "quantiles all_quantiles_or_none",
    ),
    Mutation(
        "log loss half as steep",
        "losses/classification.py",
        "return -y / (1.0 + np.exp(y * p))",
        "return -y / (2.0 + np.exp(y * p))",
        "losses",
    ),
    # Transforms.
    Mutation(
        "a value counts for its limit before it is clipped",
        "engines/numpy_engine/transforms.py",
        "larger(largest[features], np.abs(values[row]))",
        "larger(largest[features], np.abs(rows[0][row]))",
        "clipping",
    ),
    Mutation(
        "rows of weight 0 move a limit",
        "engines/numba_engine/transforms.py",
        "    if learns:\n        largest[i] =",
        "    if True:\n        largest[i] =",
        "clipping",
    ),
    Mutation(
        "experts are left where an interruption found them",
        "mixtures/expert.py",
        "            restores.append(self.model.checkpoint(X))\n",
        "",
        "interruptions expert_that_fails",
    ),
    Mutation(
        "NumPy leaves a row out of its own mean",
        "engines/numpy_engine/transforms.py",
        "Z[r] = past * deviation if",
        "Z[r] = deviation if",
        "stages",
    ),
    Mutation(
        "the loop leaves a row out of its own mean",
        "engines/numba_engine/transforms.py",
        "z = past * deviation",
        "z = deviation",
        "stages",
    ),
    Mutation(
        "the past's share in place of the row's",
        "engines/numpy_engine/transforms.py",
        "mean[:] = moved_mean(mean, share, deviation)\n            if scale:",
        "mean[:] = moved_mean(mean, past, deviation)\n            if scale:",
        "stages",
    ),
    Mutation(
        "a row of weight 0 is learned by the variance",
        "engines/numba_engine/transforms.py",
        "moments[1, j] = moved if learns else variance",
        "moments[1, j] = moved",
        "stages",
    ),
    Mutation(
        "zeros of sparse rows wait in vain",
        "engines/numba_engine/transforms.py",
        "waited = moved_mean(mean[j], waiting[0], -mean[j])",
        "waited = mean[j]",
        "stages",
    ),
    Mutation(
        "the moments of sparse rows do not say of how many rows they are",
        "engines/numba_engine/transforms.py",
        "values[i, 2] = weight_sum",
        "pass",
        "stages",
    ),
    Mutation(
        "merging forgets the other's variance",
        "transforms/moments.py",
        "weight_of_part * (variance + between)",
        "weight_of_part * between",
        "merging",
    ),
    Mutation(
        "the intercept moves the wrong way",
        "transforms/features.py",
        "b - w @ self.moments[0]",
        "b + w @ self.moments[0]",
        "stages",
    ),
    Mutation(
        "the first target teaches more than the mean",
        "engines/numpy_engine/transforms.py",
        "scale.slope[r] = weight_sum > 0.0",
        "scale.slope[r] = 1.0",
        "stages",
    ),
    # Loops.
    Mutation(
        "NumPy misses the weight of a row",
        "engines/numpy_engine/learning.py",
        "self.task.row_scale * c",
        "self.task.row_scale",
        "naive_agreement scinol and learning",
    ),
    Mutation(
        "the loop misses the weight in the total loss",
        "engines/numba_engine/losses.py",
        "total += weights[r] * of_row",
        "total += of_row",
        "stages",
    ),
    Mutation(
        "a sparse row has its intercept elsewhere",
        "engines/numba_engine/learning/sparse.py",
        "size - 1",
        "size - 2",
        "naive_agreement uncompiled and scinol and sparse",
    ),
    Mutation(
        "one sparse row is learned by stacked learners as if each learner were alone",
        "engines/numba_engine/learning/call.py",
        "    return _learn(tasks, states, block, out)\n",
        "    if isinstance(block.rows, DenseRows) or len(out[0].losses) > 1:\n"
        "        return _learn(tasks, states, block, out)\n"
        "    for task, state, each in zip(tasks, states, out, strict=True):\n"
        "        _learn([task], [state], block, [each])\n"
        "    return True\n",
        "hedge chunks_of_sparse",
    ),
    Mutation(
        "a hyperparameter of one learner of a team is known for all",
        "engines/numba_engine/learning/call.py",
        "if all(getattr(learner, name) == np.inf",
        "if any(getattr(learner, name) == np.inf",
        "stages team",
    ),
    Mutation(
        "the first value of a sparse feature is overwritten",
        "engines/numba_engine/learning/outputs.py",
        "and own[0][place] == 0.0",
        "and own[0][place] >= 0.0",
        "naive_agreement uncompiled and scinol2 and sparse",
    ),
    Mutation(
        "a loop starts with weights that are left in its buffers",
        "engines/numba_engine/learning/dense.py",
        "            scratch.w[k, j] = 0.0",
        "            pass",
        "stages buffers",
    ),
    Mutation(
        "the last row of a block is not learned",
        "engines/numba_engine/learning/dense.py",
        "range(n + (learns_late and n > 0))",
        "range(n)",
        "naive_agreement uncompiled and scinol and dense",
    ),
    Mutation(
        "a row is learned as if it had the next one's weight",
        "engines/numba_engine/learning/dense.py",
        "own_c, True, scale_before, t_before\n",
        "own_c, True, scale, t_before\n",
        "naive_agreement uncompiled and scinol and dense",
    ),
    Mutation(
        "a row of weight 0 is learned like the one before",
        "engines/numba_engine/learning/dense.py",
        "                scale_before = 0.0\n",
        "                scale_before *= 1.0\n",
        "invariances uncompiled and weight_zero",
    ),
    Mutation(
        "the first value of a sparse feature is not kept",
        "engines/numpy_engine/learning.py",
        "            self.state.first[self.i] = first",
        "            pass",
        "naive_agreement numpy and scinol2 and sparse",
    ),
    Mutation(
        "averages are of one trial more",
        "engines/numba_engine/learning/steps.py",
        "n_averaged = row.t - 1.0 - task.averaging_starts",
        "n_averaged = row.t - task.averaging_starts",
        "naive_agreement uncompiled and average-dense",
    ),
    Mutation(
        "a combination forgets the rows' sums",
        "engines/numba_engine/combination.py",
        "sums[k, j] += sum_increments[r, k] * gram[r, j]",
        "pass",
        "kernels test_learning or test_average",
    ),
    Mutation(
        "a search takes the nearest row for the last of the nearest",
        "engines/numba_engine/neighbors.py",
        "bound = np.int32(nearest[last] >> KEY_BITS)",
        "bound = np.int32(nearest[0] >> KEY_BITS)",
        "neighbors definition",
    ),
    Mutation(
        "the oldest of equally near rows come first",
        "engines/numpy_engine/neighbors.py",
        "slots = latest_first % recent.window",
        "slots = latest_first[::-1] % recent.window",
        "neighbors later_rows",
    ),
    Mutation(
        "rows of weight 0 are stored",
        "engines/numba_engine/neighbors.py",
        "if weights.given[r] > 0.0:",
        "if weights.given[r] >= 0.0:",
        "local_models weight_0 and Neighbors",
    ),
    Mutation(
        "stored rows keep the numbers of their classes",
        "models/recent.py",
        "numbers = np.append(np.flatnonzero(~is_new), 0)",
        "numbers = np.arange(is_new.size)",
        "local_models new_classes and Neighbors",
    ),
    Mutation(
        "merged rows are those of the start",
        "models/recent.py",
        "parts.append((1.0 + np.arange(slots.size)",
        "parts.append((0.0 - np.arange(slots.size)",
        "neighbors merging",
    ),
    Mutation(
        "a parent of an inner node has the odds of a leaf's parent",
        "learners/mondrian_tree.py",
        "odds = 1.0 if was_leaf else 2.0 * rho / (1.0 + rho)",
        "odds = 1.0",
        "forest prunings or recursion",
    ),
    Mutation(
        "nodes above a new parent do not see that it adds weight",
        "learners/mondrian_tree.py",
        "/ (2.0 if is_new else 1.0 + rho)",
        "/ (1.0 + rho)",
        "forest recursion",
    ),
    Mutation(
        "a leaf pays for its first row",
        "learners/mondrian_tree.py",
        "ratios[i] = 1.0 if is_new else own",
        "ratios[i] = own",
        "forest prunings",
    ),
    Mutation(
        "thresholds are drawn from inside the box",
        "learners/mondrian_tree.py",
        "bottom = high[j] if is_left else start[j]",
        "bottom = low[j] if is_left else start[j]",
        "forest prunings",
    ),
    Mutation(
        "splits that were put off are not made up for",
        "learners/mondrian_tree.py",
        "if is_outside or (shapes and nodes.is_of_other(tree, leaf, y)):",
        "if is_outside:",
        "forest recursion",
    ),
    Mutation(
        "rows of little weight split trees like others",
        "learners/mondrian_tree.py",
        "if shapes and c * n_rows < weight:",
        "if False:",
        "forest prunings",
    ),
    Mutation(
        "boxes are not saved before they grow",
        "learners/mondrian_tree.py",
        "                    save_box(tree, k, node, log)",
        "                    pass",
        "local_models undone",
    ),
    Mutation(
        "new nodes stay in their slots when rows are undone",
        "models/trees.py",
        "before[name][is_free] = 0",
        "pass",
        "local_models undone",
    ),
    Mutation(
        "trees of a merged forest count alike",
        "models/trees.py",
        "part.numbers[..., WEIGHT] *= unit",
        "part.numbers[..., WEIGHT] = 1.0",
        "forest merged",
    ),
    # Mixtures.
    Mutation(
        "plots of terms do not say that pools are missing",
        "mixtures/base.py",
        """names + ["pools"] *""",
        "names + [] *",
        "additive names_what",
    ),
    Mutation(
        "plots of terms have no note",
        "inspection.py",
        "if self.not_shown:",
        "if False:",
        "additive names_what",
    ),
    Mutation(
        "AdaHedge's gap of mild rounds has the wrong sign",
        "advice/adahedge.py",
        "larger(0.0, scale * np.log1p(",
        "larger(0.0, -scale * np.log1p(",
        "stages",
    ),
    Mutation(
        "AdaHedge's gap of other rounds has the wrong sign",
        "advice/adahedge.py",
        "0.0, hedge_loss - rise + scale",
        "0.0, hedge_loss + rise + scale",
        "stages",
    ),
    Mutation(
        "weights of experts do not sum to one",
        "engines/numpy_engine/mixing.py",
        "scale)\n            w /= np.add.reduce(w)",
        "scale)\n            w /= np.maximum.reduce(w)",
        "stages",
    ),
    Mutation(
        "the decreasing share is that of the round before",
        "advice/fixed_share.py",
        "1.0 / (t + 1.0)",
        "1.0 / t",
        "experts bayes",
    ),
    Mutation(
        "a smaller learning rate leaves the weights alone",
        "advice/fixed_share.py",
        "return w**ratio",
        "return w",
        "experts shares_agree",
    ),
    Mutation(
        "fixed share's gap has the wrong sign",
        "advice/fixed_share.py",
        "hedge_loss + scale * np.log",
        "hedge_loss - scale * np.log",
        "experts shares_agree",
    ),
    Mutation(
        "predictions are clipped to targets of the same row",
        "mixtures/target_range.py",
        "np.cumsum(learned) - learned",
        "np.cumsum(learned)",
        "hedge agrees_with_reference",
    ),
    Mutation(
        "unlikely classes are impossible",
        "advice/pooling.py",
        "MIN_PROBABILITY = 1e-300",
        "MIN_PROBABILITY = 0.0",
        "stages probabilities",
    ),
    # Validation, and what is done when a call fails.
    Mutation(
        "columns of text are not named",
        "_validation.py",
        "if NOT_A_NUMBER in message and (names := _columns_of_text(X)):",
        "if (names := None):",
        "bad_input columns_of_text",
    ),
    Mutation(
        "strings that are numbers are text",
        "_validation.py",
        '            as_kind(column, "number", name)\n',
        "            raise ValueError(NOT_A_NUMBER)\n",
        "bad_input columns_of_text",
    ),
    Mutation(
        "who has missing values is sent to trees",
        "_validation.py",
        "    if found:\n",
        "    if False:\n",
        "bad_input from_missing_values",
    ),
    Mutation(
        "estimators take dicts for arrays",
        "_validation.py",
        "            raise dicts_error(name) from error",
        "            raise",
        "bad_input dicts_are_for",
    ),
    Mutation(
        "a row that is a dict is one without values",
        "estimators/rows.py",
        "        if is_dict and not is_new:\n",
        "        if False:\n",
        "bad_input dicts_are_for",
    ),
    Mutation(
        "a loss of regressors is any word to classifiers",
        "estimators/validation.py",
        "loss in [*losses]:",
        "False:",
        "bad_input other_kind",
    ),
    Mutation(
        "labels that are new are refused without a word on what helps",
        "estimators/classifier.py",
        '{unseen}. Pass all labels of "\n'
        '                "the stream as classes= at the first call, or set '
        "new_classes='add'.\"",
        '{unseen}"',
        "bad_input unseen_class",
    ),
    Mutation(
        "masks are ignored",
        "_validation.py",
        "if np.ma.is_masked(array):",
        "if False:",
        "bad_input masks",
    ),
    Mutation(
        "masks of several targets of a row are ignored",
        "estimators/regressor.py",
        "            if np.ma.is_masked(y):\n                return None\n",
        "",
        "bad_input masks_of_several_targets",
    ),
    Mutation(
        "the mask of a label that comes alone is ignored",
        "estimators/rows.py",
        "        check_not_masked(y=y)\n",
        "",
        "bad_input masks_of_rows",
    ),
    Mutation(
        "the first rows of a late column are encoded as missing",
        "tables/dense.py",
        "D[np.ix_(mask, self._columns_of(name))] = 0.0",
        "pass",
        "dense_view chunks_do_not_matter",
    ),
    Mutation(
        "means of the target are not restored",
        "_rollback.py",
        "                log.append(before)\n",
        "                pass\n",
        "dense_view refused",
    ),
    Mutation(
        "labels are learned with weight 1",
        "tables/dense.py",
        "        c = np.ones(n) if c is None else c\n",
        "        c = np.ones(n)\n",
        "dense_view weights",
    ),
    Mutation(
        "experts see the sparse rows of a table only",
        "mixtures/default_experts.py",
        "    if dense is None:\n        of_rows",
        "    if True:\n        of_rows",
        "dense_view both_views",
    ),
    Mutation(
        "the mask of a table is ignored",
        "preprocessing/tabular.py",
        "        check_not_masked(X=X)\n",
        "",
        "bad_input masks_of_transformed",
    ),
    Mutation(
        "columns are predicted whose indices are none of theirs",
        "_validation.py",
        'if X.format in ("csc", "bsr"):',
        "if False:",
        "bad_input out_of_range",
    ),
    Mutation(
        "entries are predicted whose indices are none of theirs",
        "_validation.py",
        'elif X.format == "coo":',
        "elif False:",
        "bad_input out_of_range",
    ),
    Mutation(
        "the first column that a file does not have is named alone",
        "streams/columns.py",
        "    if missing := [name for name in given if name not in known]:\n",
        "    if missing := [name for name in given if name not in known][:1]:\n",
        "streams columns_of_files",
    ),
    Mutation(
        "values that overflow are let in",
        "transforms/ranges.py",
        "MAX_VALUE = 1e100",
        "MAX_VALUE = 1e155",
        "range out_of_range",
    ),
    Mutation(
        "values below are not looked at",
        "engines/numpy_engine/losses.py",
        "max(values.max(initial=0.0), -values.min(initial=0.0))",
        "values.max(initial=0.0)",
        "range out_of_range",
    ),
    Mutation(
        "weights are as they were given",
        "models/weights.py",
        "        positive = positive / unit\n",
        "        positive = positive * 1.0\n",
        "sample_weights factor",
    ),
    Mutation(
        "rows are predicted at weight 1",
        "models/online.py",
        "return self.row_scale * self.weight_of_predicted",
        "return self.row_scale",
        "sample_weights coefficients",
    ),
    Mutation(
        "the loop lets any value in",
        "engines/numba_engine/learning/steps.py",
        "return squares * max(c * c, 1.0) <= largest * largest",
        "return True",
        "stages looked_at",
    ),
    Mutation(
        "pipes and devices are replaced by files",
        "persistence.py",
        "    check_regular_file(path)\n",
        "",
        "persistence regular_file",
    ),
    Mutation(
        "types of what was saved are looked for in any case",
        "persistence.py",
        "return data, io.loads(data, trusted=TRUSTED_TYPES)",
        "return data, io.loads(data, trusted=[])",
        "persistence read_once",
    ),
    Mutation(
        "what is loaded is not looked at",
        "persistence.py",
        "check_parts(model, type(model).__name__)",
        "pass",
        "tampering fit_together",
    ),
    Mutation(
        "arrays that are loaded may have any shape",
        "_invariants.py",
        "state.shape == shape",
        "True",
        "tampering fit_together",
    ),
    Mutation(
        "experts that are loaded may have learned other features",
        "mixtures/base.py",
        "n_features == self.n_features_in_",
        "True",
        "tampering fit_together",
    ),
    Mutation(
        "columns that are loaded may be any",
        "tables/hashed.py",
        "(columns >= 0) & (columns < self.n_columns)",
        "columns >= 0",
        "tampering fit_together",
    ),
    Mutation(
        "features that outgrow their unit remember what they were",
        "models/linear.py",
        "weights, checks)\n        self.forget(outgrown)\n",
        "weights, checks)\n",
        "range outgrow",
    ),
    Mutation(
        "units begin far from what squares can bear",
        "transforms/units.py",
        "ORDINARY_EXPONENT = 200",
        "ORDINARY_EXPONENT = 600",
        "range powers_of_two",
    ),
    Mutation(
        "a mixture keeps the weights of what was not learned",
        "mixtures/model.py",
        "            self.hedges, self.target_range = hedges, target_range\n",
        "            pass\n",
        "interruptions mixture",
    ),
    Mutation(
        "threads: a row is learned while others predict",
        "estimators/rows.py",
        "with locks.learning, locks.state:",
        "with locks.learning:",
        "threads change_nothing and rows",
    ),
    Mutation(
        "threads: a failed call is undone while others predict",
        "_rollback.py",
        "        locks_of(self._estimator).wait_for_readers()\n",
        "",
        "threads undone",
    ),
    Mutation(
        "threads: a chunk is learned while others predict",
        "_locks.py",
        "with locks.learning, locks.state:",
        "with locks.learning:",
        "threads change_nothing and chunks",
    ),
    Mutation(
        "threads: two learn at once",
        "_locks.py",
        "with locks.learning, locks.state:",
        "with locks.state:",
        "threads two_threads",
    ),
    Mutation(
        "threads: learning waits for no prediction",
        "_locks.py",
        "for thread, lock in [*self.readers.items()]:",
        "for thread, lock in []:",
        "threads change_nothing",
    ),
    Mutation(
        "threads: predictions take turns",
        "_locks.py",
        "                return call()\n            finally:",
        "                    return call()\n            finally:",
        "threads side_by_side",
    ),
    Mutation(
        "threads: a long call lets nobody predict",
        "estimators/base.py",
        "if n_left and locks.is_wanted and",
        "if False and",
        "threads long_call",
    ),
    Mutation(
        "threads: an interruption leaves the lock open",
        "_locks.py",
        "            yield\n        finally:\n            if held:",
        "            yield\n        except ValueError:\n            if held:",
        "threads interruptions",
    ),
    Mutation(
        "threads: a fork keeps locks of other threads",
        "_locks.py",
        "    os.register_at_fork(after_in_child=_renew)",
        "    pass",
        "threads forked",
    ),
    Mutation(
        "threads: a pipeline predicts while its steps learn",
        "pipeline.py",
        "(reads(method.fn))",
        "(method.fn)",
        "threads change_nothing and chunks",
    ),
    Mutation(
        "threads: a step transforms while rows are learned",
        "_steps.py",
        "    with locks.state:\n        locks.wait_for_readers()\n        return step",
        "    with locks.learning:\n        return step",
        "threads transformers and rows",
    ),
    Mutation(
        "threads: a transformer transforms while it learns",
        "preprocessing/stream.py",
        "    @reads\n    def transform",
        "    def transform",
        "threads transformers",
    ),
    Mutation(
        "threads: a copy is made while rows are learned",
        "_locks.py",
        "    @reads\n    def __deepcopy__",
        "    def __deepcopy__",
        "threads copies_of_a_model",
    ),
    Mutation(
        "threads: a file has what is learned while it is written",
        "persistence.py",
        "        model = deepcopy(model)\n",
        "        pass\n",
        "threads file",
    ),
    Mutation(
        "a clock swallows small ticks",
        "learners/bases/averaging.py",
        "return clock[0, k] > MAX_TICK * clock[1, k] * factor",
        "return False",
        "implicit averages_of_a_ball",
    ),
    Mutation(
        "what failed is not taken back",
        "_rollback.py",
        "        rollback()\n",
        "        pass\n",
        "failures",
    ),
    Mutation(
        "attributes are not taken back",
        "_rollback.py",
        "        vars(self._estimator).update(self._before)\n",
        "",
        "failures",
    ),
    Mutation(
        "a rollback that is interrupted stays half done",
        "_rollback.py",
        "            finish(self._restore)\n",
        "            self._restore()\n",
        "interruptions rollback",
    ),
    Mutation(
        "threads go on when a call has failed",
        "mixtures/parallel.py",
        "        finish(wait)\n",
        "",
        "interruptions threads_whose or learn_while",
    ),
    Mutation(
        "the wait for threads ends at the next interruption",
        "mixtures/parallel.py",
        "        finish(wait)\n",
        "        wait()\n",
        "interruptions threads_whose",
    ),
    Mutation(
        "threads of other backends of joblib are not waited for",
        "mixtures/parallel.py",
        'getattr(backend, "supports_sharedmem", False)',
        "type(backend).__name__ == 'ThreadingBackend'",
        "interruptions learn_while",
    ),
    Mutation(
        "experts weigh no classes",
        "estimators/classifier.py",
        "return Chunk(chunk.X, *weighed)",
        "return Chunk(chunk.X, chunk.y, chunk.sample_weight, weighed[2])",
        "class_weight experts_have",
    ),
    Mutation(
        "a prepared row of weight 0 is learned by the weights of experts",
        "mixtures/row.py",
        "mixing.losses, self.row.given > 0.0",
        "mixing.losses, True",
        "row_by_row every_kind_of_mixture",
    ),
    Mutation(
        "a prepared row changes the arrays of weights that are mapped from a file",
        "mixtures/row.py",
        "hedges[0]._copied_state()",
        "hedges[0]._state",
        "row_by_row mapped",
    ),
    Mutation(
        "experts record the loss of a call as if its last block were all of it",
        "mixtures/model.py",
        "weight = np.concatenate(weights).sum()",
        "weight = weights[-1].sum()",
        "hedge curves_of_experts",
    ),
    Mutation(
        "moments of sparse rows are not taken back",
        "transforms/features.py",
        "self.moments.T[columns] = moments",
        "pass",
        "failures",
    ),
    Mutation(
        "the sum of weights is not taken back",
        "transforms/features.py",
        "self._weight_sum[:], self.kept = weight_sum, kept",
        "self.kept = kept",
        "failures",
    ),
    Mutation(
        "moments that forget forget for rows of weight 0, too",
        "transforms/moments.py",
        "return total if learns else weight_sum, c / total, past / total",
        "return total if learns else past, c / total, past / total",
        "forgetting",
    ),
    Mutation(
        "a feature that is stuck never counts as constant",
        "transforms/moments.py",
        "MIN_DEVIATION = 1e-8",
        "MIN_DEVIATION = 0.0",
        "forgetting",
    ),
    Mutation(
        "zeros of sparse rows forget nothing",
        "transforms/moments.py",
        "return recorded * exp(n_rows * log_kept)",
        "return recorded",
        "forgetting",
    ),
    Mutation(
        "rows of weight 0 count among sparse rows that forget",
        "engines/numpy_engine/transforms.py",
        "waiting = shares_of_waiting(weight_sum, recorded)",
        "n_rows += given == 0.0; waiting = shares_of_waiting(weight_sum, recorded)",
        "forgetting",
    ),
    Mutation(
        "predictions know nothing of forgetting",
        "transforms/features.py",
        "weight, False, self.kept)[1:]",
        "weight, False)[1:]",
        "forgetting",
    ),
    Mutation(
        "a loss without a slope's bound is let in",
        "losses/__init__.py",
        "if loss().lipschitz < np.inf",
        "if loss().lipschitz <= np.inf",
        "bad_input parameters",
    ),
    # Pipelines.
    Mutation(
        "a transformer keeps what it learned before a step failed",
        "_steps.py",
        "        rollbacks.append(checkpoint_step(step))\n",
        "",
        "pipeline fail",
    ),
    Mutation(
        "an encoder keeps a row that comes alone where the learner fails",
        "preprocessing/stream.py",
        "        rollbacks.append(self._checkpoint())\n",
        "",
        "pipeline_rows bad_rows",
    ),
    Mutation(
        "an encoder keeps values of a row that comes alone where the learner fails",
        "tables/row.py",
        "            rollbacks += [part.checkpoint() for part in self._parts]\n",
        "",
        "pipeline_rows forgotten",
    ),
    Mutation(
        "an encoder knows the column of a text that it has forgotten",
        "tables/row.py",
        "self._hashed.checkpoint(), partial(_forget, new)",
        "self._hashed.checkpoint()",
        "pipeline_rows forgotten",
    ),
    Mutation(
        "an encoder knows slots that were taken back",
        "tables/encoding.py",
        "            forget_row_encoder(self)\n",
        "",
        "pipeline_rows forgotten",
    ),
    Mutation(
        "weights of rows that come alone go to the last step whoever requests them",
        "_steps.py",
        "sample_weight is not None and _routing_enabled()",
        "False",
        "pipeline_rows routing",
    ),
    Mutation(
        "a number that comes alone may be infinite",
        "tables/kinds.py",
        "    if isinf(number):\n        raise ValueError(value)\n",
        "",
        "pipeline_rows bad_rows",
    ),
    Mutation(
        "new features of a sparse row that fails stay seen",
        "models/row.py",
        "            rollbacks += [",
        "            [",
        "row_by_row rows_that_fail",
    ),
    Mutation(
        "a sparse row that fails leaves what it touched as it is",
        "engines/numba_engine/recording.py",
        "places += [(array.ctypes.data, array[0].size) for array in of_features]",
        "of_features = []",
        "row_by_row rows_that_fail",
    ),
    Mutation(
        "a saved unit of weights may be any number",
        "models/weights.py",
        'range of weights", is_in_range(unit)',
        'range of weights", True',
        "tampering fit_together and unit",
    ),
    Mutation(
        "a ball that shrinks is taken back for a few features only",
        "models/linear.py",
        "if n_entries >= self.n_features or self._changes_absent_features:",
        "if n_entries >= self.n_features:",
        "failures balls",
    ),
    Mutation(
        "a last step keeps rows when the pipeline is interrupted after it",
        "_rollback.py",
        "            around.append(self._restore)\n",
        "            pass\n",
        "interruptions last_step_has_learned",
    ),
    Mutation(
        "a compiled last step keeps sparse rows when the pipeline is interrupted",
        "estimators/base.py",
        "        if rollbacks_around(self) is not None:\n",
        "        if False:\n",
        "interruptions rows_of_a_pipeline",
    ),
    Mutation(
        "a warm start keeps sparse rows when it is interrupted",
        "estimators/base.py",
        "                rollbacks.append(self._model.checkpoint(chunk.X))\n",
        "                rollbacks.append("
        "self._model.checkpoint_row_boundary(chunk))\n",
        "interruptions warm_start",
    ),
    Mutation(
        "fine bins are no finer than others",
        "estimators/additive.py",
        'is_fine=self.interactions == "fine"',
        "is_fine=False",
        "additive reference",
    ),
    Mutation(
        "mixtures learn finer pairs of any number of features",
        "mixtures/default_experts.py",
        'found["interactions"] and d <= MAX_FINELY_PAIRED',
        'found["interactions"]',
        "additive experts",
    ),
    Mutation(
        "edges of bins do not know rows that take the short way",
        "models/row.py",
        "                bins.learn(self._dense_row.X)\n",
        "                pass\n",
        "row_by_row before_bins_have_edges",
    ),
    Mutation(
        "the row by which calls are recorded counts for the edges of bins",
        "models/row.py",
        "            finish(partial(roll_back, rollbacks))\n        self._calls",
        "            pass\n        self._calls",
        "row_by_row before_bins_have_edges",
    ),
    Mutation(
        "a row that is learned stays when the pipeline is interrupted after it",
        "models/row.py",
        "            around.append(restore)\n",
        "            pass\n",
        "interruptions last_step_has_learned",
    ),
    Mutation(
        "an encoder that is interrupted keeps marks without names",
        "tables/hashed.py",
        "            self.first[n_known == 0] = 0\n",
        "",
        "interruptions alone-numpy",
    ),
    Mutation(
        "a last step from elsewhere keeps what it learned before it failed",
        "pipeline.py",
        "rollbacks.append(checkpoint_step(final))",
        "pass",
        "pipeline fail",
    ),
    Mutation(
        "an expert that is a pipeline predicts a chunk, then learns it",
        "mixtures/expert.py",
        'if hasattr(self.estimator, "partial_fit_predict"):',
        "if False:",
        "pipeline expert",
    ),
    # Tables.
    Mutation(
        "keys of two columns together do not begin with their names",
        "tables/encoding.py",
        'keys = key_of_text(engine, " & ".join(names))',
        "keys = np.uint64([0])",
        "table_encoder same_values",
    ),
    Mutation(
        "a word has the key of the column's own name",
        "tables/base.py",
        'return engine.mix_keys(key_of_text(engine, f"{name}="), keys)',
        "return keys",
        "table_encoder same_values",
    ),
    Mutation(
        "numbers that never come again keep their columns",
        "tables/columns.py",
        "Vocabulary(len(names), n_named, 2 * n_named)",
        "Vocabulary(len(names), n_named, 0)",
        "table_encoder never_come_again",
    ),
    Mutation(
        "a row is encoded by the moments before it",
        "transforms/standard.py",
        "return past * deviation * inverse_deviation(moved)",
        "return deviation * inverse_deviation(variance)",
        "table_encoder transformed_as",
    ),
    Mutation(
        "a failure leaves keys at the places that they marked",
        "tables/hashed.py",
        "self.first[n_known == 0] = 0",
        "pass",
        "table_encoder takes_the_encoder_back",
    ),
    Mutation(
        "a failure leaves slots taken",
        "tables/vocabulary.py",
        "now[:] = before",
        "pass",
        "table_encoder takes_the_encoder_back",
    ),
    Mutation(
        "an unknown category goes to its hash while slots are free",
        "engines/numpy_engine/tables.py",
        "-1 if is_full else n_used)",
        "-1 if is_full or not learns else n_used)",
        "table_encoder transformed_as",
    ),
    Mutation(
        "a value that is missing is 0",
        "tables/frames.py",
        "filled(np.nan)",
        "filled(0.0)",
        "table_encoder entries",
    ),
    Mutation(
        "directions of random Fourier features are not orthogonal",
        "transforms/fourier.py",
        "blocks.append(Q * np.copysign(1.0, np.diag(R)))",
        "blocks.append(random_state.normal(size=Q.shape) / np.sqrt(n_features))",
        "fourier test_features",
    ),
    Mutation(
        "random Fourier features of other directions are merged",
        "transforms/fourier.py",
        "if not all(map(merged._has_directions_of, shards.members)):",
        "if False:",
        "fourier not_merged",
    ),
    Mutation(
        "clip_ratio clips random features",
        "estimators/second_order.py",
        "clip_ratio=self.clip_ratio,",
        "clip_ratio=None,",
        "random_features clipped_values",
    ),
    Mutation(
        "a row is learned by replay though the unit of a feature is not 1",
        "models/random_features.py",
        "self.fourier.features.can_replay(is_sparse=False)",
        "True",
        "random_features rows_in_units",
    ),
    Mutation(
        "a column is a category as long as all its values are missing",
        "tables/kinds.py",
        "    if column.is_missing.all():\n        return None\n",
        "    if column.is_missing.all():\n        return 'category'\n",
        "table_encoder first_values_decide",
    ),
    Mutation(
        "a column whose first value is missing lies where its kind does",
        "preprocessing/tabular.py",
        "None if column.is_missing[0] else infer_kind(column)",
        "infer_kind(column)",
        "table_encoder first_values_decide",
    ),
    Mutation(
        "rows before the first value do not count for the edges of bins",
        "tables/encoding.py",
        "group.skip(n_rows)",
        "pass",
        "table_encoder first_values_decide",
    ),
    Mutation(
        "a column forgets what it learned when another one gets its kind",
        "tables/encoding.py",
        "group.copy_from(known)",
        "pass",
        "table_encoder first_values_decide",
    ),
    Mutation(
        "a value that is missing is another one once the kind is known",
        "tables/base.py",
        "return np.uint64(self.places[j] + self.missing_code)",
        "return MISSING",
        "table_encoder first_values_decide",
    ),
    Mutation(
        "rows that are only transformed decide about kinds",
        "preprocessing/tabular.py",
        "if rows.new_kinds and learns:",
        "if rows.new_kinds:",
        "table_encoder undecided_rows",
    ),
    Mutation(
        "kinds that contradict each other are merged",
        "preprocessing/tabular.py",
        "_check_same_kinds(known, known | found)",
        "pass",
        "merging_pipelines contradict",
    ),
    Mutation(
        "names that are hashed come column by column",
        "tables/encoding.py",
        'order = np.argsort(np.concatenate(rows), kind="stable")',
        "order = np.arange(sum(map(len, rows)))",
        "table_encoder names_do_not_depend",
    ),
    Mutation(
        "pipelines show encoders a chunk before its first row is predicted",
        "_steps.py",
        'if hasattr(step, "partial_fit_transform"):',
        "if False:",
        "table_encoder row_by_row",
    ),
    Mutation(
        "all names are listed for each declared column",
        "preprocessing/tabular.py",
        "for name in declared if name not in names]",
        "for name in declared if name not in frame.names]",
        "table_encoder listed_once",
    ),
    # Files.
    Mutation(
        "each name of a column is looked for in a list",
        "streams/columns.py",
        "given, known = set(), {*expected}",
        "given, known = set(), expected",
        "streams compared_once",
    ),
    Mutation(
        "blocks of wide rows are as small as others",
        "streams/text.py",
        "if _is_short(data) and",
        "if False and",
        "streams wide_rows",
    ),
    Mutation(
        "rows of a pipe wait for others",
        "streams/text.py",
        "len(new) >= max(1, size // 4)",
        "len(new)",
        "streams pipe",
    ),
    Mutation(
        "JSON may be nested as deep as ends the process",
        "streams/json_lines.py",
        'return depth + brackets.count(b"{") > MAX_JSON_DEPTH',
        "return False",
        "streams depth",
    ),
    Mutation(
        "a null instead of an object ends the process",
        "streams/json_lines.py",
        r"(?:\A|[}\]])\s*+null",
        r"(?!)",
        "streams null_rows",
    ),
    Mutation(
        "brackets in strings count as nested",
        "streams/json_lines.py",
        'brackets = STRING.sub(b"", brackets)',
        'brackets = brackets.replace(b\'"\', b"")',
        "streams brackets_and_nulls",
    ),
    Mutation(
        "any codec is an encoding of text",
        "streams/files.py",
        '"text".encode(encoding)',
        "codecs.lookup(encoding)",
        "streams bad_options",
    ),
    Mutation(
        "chunks may have more rows than an index counts",
        "streams/reading.py",
        '"chunk_rows", Integral, min_val=1, max_val=sys.maxsize',
        '"chunk_rows", Integral, min_val=1',
        "streams bad_options",
    ),
    Mutation(
        "a key that comes twice is no JSON object",
        "streams/json_lines.py",
        'was specified twice", words',
        'was specified thrice", words',
        "streams bad_rows_of_json",
    ),
    Mutation(
        "the command line writes where it reads by another name",
        "cli/common.py",
        "if os.path.samefile(file, path):",
        "if str(file) == path:",
        "command_line what_is_read",
    ),
    Mutation(
        "the command line saves a model over a test file",
        "cli/learn.py",
        "[*arguments.files, *arguments.test_file]",
        "arguments.files",
        "command_line what_is_read",
    ),
    Mutation(
        "terminals take commands from names of columns",
        "cli/common.py",
        "if not text.isprintable():",
        "if False:",
        "command_line text_of_files",
    ),
    Mutation(
        "spreadsheets take predictions for formulas, and nobody tells",
        "cli/predict.py",
        "model.classes_.tolist() if is_classifier(model) else []",
        "[]",
        "command_line formulas",
    ),
    Mutation(
        "identifiers are classes",
        "cli/learn.py",
        "elif 2 * np.count_nonzero(counts == 1) > labels.size:",
        "elif False:",
        "command_line no_classes",
    ),
    # Classes that come later, and their weights.
    Mutation(
        "a class is known from the row after its first",
        "estimators/labels.py",
        "rows[firsts[order]]",
        "rows[firsts[order]] + 1",
        "new_classes no_slope",
    ),
    Mutation(
        "a row of no weight brings a class",
        "estimators/labels.py",
        "is_new &= weights > 0.0",
        "is_new &= weights >= 0.0",
        "new_classes any_order",
    ),
    Mutation(
        "a row of one class is learned",
        "estimators/class_weights.py",
        "c[rows] = 0.0",
        "pass",
        "new_classes one_class",
    ),
    Mutation(
        "the state of two classes becomes that of the first",
        "models/online.py",
        "signs[old[0]] = 0 if loss.joint else -1",
        "signs[old[1]] = 0 if loss.joint else -1",
        "new_classes no_slope",
    ),
    Mutation(
        "one versus rest does not mirror the first of two classes",
        "models/online.py",
        "signs[old[0]] = 0 if loss.joint else -1",
        "signs[old[0]] = 0",
        "new_classes one_versus_rest",
    ),
    Mutation(
        "a mirrored sum of weights keeps its sign",
        "models/linear_state.py",
        "is_odd += [True, False]",
        "is_odd += [False, False]",
        "new_classes averages_of",
    ),
    Mutation(
        "a new output does not know the largest values",
        "learners/scinol2.py",
        "._replace(M=s.M)",
        "",
        "new_classes no_slope and scinol2",
    ),
    Mutation(
        "a model that fails to learn keeps its new classes",
        "estimators/classifier.py",
        "deepcopy(self._model, {id(array): array for array in shared})",
        "self._model",
        "new_classes failing",
    ),
    Mutation(
        "a bound forgets that scores are differences",
        "models/online.py",
        "self.reference = int(old[0]) if loss.joint else None",
        "self.reference = None",
        "new_classes differences",
    ),
    Mutation(
        "a bound takes another class for the first",
        "models/online.py",
        "self.reference = int(old[self.reference])",
        "pass",
        "new_classes differences",
    ),
    Mutation(
        "balanced weights leave out the row itself",
        "estimators/class_weights.py",
        "counts_before(codes, counts.size) + 1",
        "np.maximum(counts_before(codes, counts.size), 1)",
        "class_weight partial_fit",
    ),
    Mutation(
        "balanced weights count rows of weight 0",
        "estimators/classifier.py",
        "learned = part.y[part.sample_weight > 0.0]",
        "learned = part.y",
        "class_weight any_chunks",
    ),
    Mutation(
        "experts of second order learn any number of classes",
        "mixtures/default_experts.py",
        '"second_order", at_most(MAX_SECOND_ORDER), few_classes',
        '"second_order", at_most(MAX_SECOND_ORDER)',
        "hedge many_classes_have",
    ),
    Mutation(
        "classes that come later are never too many for experts",
        "mixtures/classifier.py",
        "if names and self.estimators is None:",
        "if not names and self.estimators is None:",
        "hedge too_many_for_experts",
    ),
    Mutation(
        "weights are not looked at while one class is known",
        "estimators/class_weights.py",
        "            check_range(c[rows][c[rows] > 0.0])\n",
        "",
        "new_classes weights_while_one_class",
    ),
    Mutation(
        "labels of pandas' types become floats",
        "estimators/classifier.py",
        "super()._validate(X, as_numpy_labels(y), *arguments",
        "super()._validate(X, y, *arguments",
        "estimators labels_of_pandas_types",
    ),
    Mutation(
        "labels share the weights of experts of the first one",
        "mixtures/mixing_scale.py",
        "return losses[..., k]",
        "return losses[..., 0]",
        "multilabel",
    ),
    Mutation(
        "a matrix of zeros and twos counts as labels",
        "estimators/labels.py",
        "(indicators | (labels == 0)).all()",
        "(indicators | (labels != 1)).all()",
        "multilabel bad_labels",
    ),
    Mutation(
        "held-out rows are stratified by labels",
        "estimators/base.py",
        "if chunk.y.ndim == 1 else ShuffleSplit",
        "if chunk.y.ndim <= 2 else ShuffleSplit",
        "multilabel early_stopping",
    ),
    Mutation(
        "memories of all labels learn the first one",
        "models/separate.py",
        "y[:, k : k + 1]",
        "y[:, :1]",
        "multilabel other_models",
    ),
    Mutation(
        "counts of classes stay behind where classes are added",
        "estimators/classifier.py",
        "spread_counts(self._class_counts, ~is_new)",
        "spread_counts(self._class_counts, np.sort(is_new))",
        "new_classes balanced",
    ),
]


def other_tests(copy):
    """Files of all tests that a mutation may meet."""
    left_out = {path for glob in LEFT_OUT for path in (copy / "tests").glob(glob)}
    return sorted({*(copy / "tests").rglob("test_*.py")} - left_out)


def first_failure(copy, files, words="not numba", *options):
    """The first test that fails, or None."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE"]
    command += ["-p", "no:cacheprovider", "--all-cases", "-k", words, *options]
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(copy / "cache"),
    }
    done = subprocess.run(
        [*command, *map(str, files)],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (?:\S*/)?(test_\S+)", done.stdout, re.M)
    if found is None:
        raise RuntimeError(f"pytest could not run:\n{done.stdout}{done.stderr}")
    return found[1]


def killer(mutation):
    """The test that notices the mutation, or None; and how long that took."""
    start = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "_build", "generated")
                shutil.copytree(source, copy / name, ignore=ignore)
            else:
                shutil.copy(source, copy / name)
        mutate(copy / "sklearn_scinol", mutation)
        file, _, words = mutation.first.partition(" ")
        [likely] = (copy / "tests").rglob(f"test_{file}.py")
        failure = first_failure(copy, [likely], words or "not numba")
        if failure is None:
            failure = first_failure(copy, other_tests(copy), "not numba", "-n", "auto")
    return failure, perf_counter() - start


def mutate(package, mutation):
    path = package / mutation.file
    source = path.read_text("utf-8") if path.exists() else ""
    if source.count(mutation.old) != 1:
        found = source.count(mutation.old)
        print(f"{mutation.name}: {mutation.file} has its text {found} times, not once")
        return False
    if package != ROOT / "sklearn_scinol":
        path.write_text(source.replace(mutation.old, mutation.new), "utf-8")
    return True


def part(text):
    """The numbers in "2/3"."""
    number, n_parts = map(int, text.split("/"))
    if not 1 <= number <= n_parts:
        raise ValueError(text)
    return number, n_parts


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="words in names of mutations")
    parser.add_argument("--part", type=part, default="1/1", help="such as 2/3")
    arguments = parser.parse_args(argv)
    words, (number, n_parts) = arguments.words, arguments.part
    chosen = [m for m in MUTATIONS if not words or any(w in m.name for w in words)]
    chosen = chosen[number - 1 :: n_parts]
    if not chosen:
        print("No mutation has such a name.")
        return 2
    if not all([mutate(ROOT / "sklearn_scinol", mutation) for mutation in chosen]):
        return 2
    n_survivors = 0
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        for mutation, (failure, seconds) in zip(
            chosen, executor.map(killer, chosen), strict=True
        ):
            n_survivors += failure is None
            outcome = "SURVIVED" if failure is None else f"killed by {failure}"
            print(f"{mutation.name:65} {seconds:4.0f} s  {outcome}", flush=True)
    print(f"{len(chosen) - n_survivors} of {len(chosen)} mutations killed")
    return 1 if n_survivors else 0


if __name__ == "__main__":
    sys.exit(main())
