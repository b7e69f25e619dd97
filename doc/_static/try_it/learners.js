// ScInOL2 and SGD with logistic loss. A learner has `predict(x)`, the probability of
// label 1, and `learn(y)` of that row, with label 0 or 1. Tests compare both with Python.
(() => {
  "use strict";

  const TINY = 2 ** -1022; // instead of 0, by which 0 could not be divided

  const sigmoid = (p) => 1 / (1 + Math.exp(-p));
  const slope = (p, y) => (y ? -sigmoid(-p) : sigmoid(p)); // of the loss, by p
  const logLoss = (p, y) => Math.max(y ? -p : p, 0) + Math.log1p(Math.exp(-Math.abs(p)));

  // As ScInOLClassifier(): each feature is centred at its running mean, and the
  // intercept is a constant feature. The symbols are the paper's.
  class ScInOL2 {
    constructor(nFeatures) {
      const d = nFeatures + 1;
      this.n = 0; // rows learned
      this.mean = new Float64Array(nFeatures);
      this.M = new Float64Array(d); // largest |x| so far
      this.G = new Float64Array(d); // minus the sum of the gradients g x
      this.S2 = new Float64Array(d).fill(TINY); // sum of the squares of g x
      this.eta = new Float64Array(d).fill(1); // wealth
      this.w = new Float64Array(d);
      this.z = new Float64Array(d).fill(1);
    }

    predict(x) {
      const past = this.n / (this.n + 1);
      this.x = x;
      this.p = 0;
      for (let i = 0; i < this.z.length; i++) {
        if (i < x.length) this.z[i] = past * (x[i] - this.mean[i]);
        const M = Math.max(this.M[i], Math.abs(this.z[i]));
        const S = Math.sqrt(this.S2[i] + M * M);
        const bet = Math.max(-1, Math.min(1, this.G[i] / S));
        this.w[i] = (bet * this.eta[i]) / (2 * S);
        this.p += this.w[i] * this.z[i];
      }
      return sigmoid(this.p);
    }

    learn(y) {
      const g = slope(this.p, y);
      this.n += 1;
      for (let i = 0; i < this.z.length; i++) {
        if (i < this.x.length) this.mean[i] += (this.x[i] - this.mean[i]) / this.n;
        const gx = g * this.z[i];
        this.M[i] = Math.max(this.M[i], Math.abs(this.z[i]));
        this.G[i] -= gx;
        this.S2[i] += gx * gx;
        this.eta[i] -= gx * this.w[i];
      }
    }
  }

  // As SGDClassifier(loss="log_loss", penalty=None, learning_rate="constant", eta0=rate).
  class SGD {
    constructor(nFeatures, rate) {
      this.rate = rate;
      this.w = new Float64Array(nFeatures);
      this.b = 0;
    }

    predict(x) {
      this.x = x;
      this.p = this.b;
      for (let i = 0; i < x.length; i++) this.p += this.w[i] * x[i];
      return sigmoid(this.p);
    }

    learn(y) {
      const step = this.rate * slope(this.p, y);
      for (let i = 0; i < this.x.length; i++) this.w[i] -= step * this.x[i];
      this.b -= step;
    }
  }

  // Predict each row, then learn it: the mean loss so far after each row.
  function meanLosses(learner, { X, y }) {
    let total = 0;
    return X.map((x, t) => {
      learner.predict(x);
      total += logLoss(learner.p, y[t]);
      learner.learn(y[t]);
      return total / (t + 1);
    });
  }

  globalThis.tryIt = { ...globalThis.tryIt, ScInOL2, SGD, meanLosses };
})();
