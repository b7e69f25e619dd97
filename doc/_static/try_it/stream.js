// A stream: rows of three features, labels 0 and 1, and an effect that changes its sign.
(() => {
  "use strict";

  // Random numbers between 0 and 1, the same in every browser: mulberry32.
  function generator(seed) {
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  // The first feature is multiplied by `unit`; labels do not depend on it.
  function makeStream(nRows, unit) {
    const random = generator(1);
    const normal = () => {
      let sum = -6; // of twelve numbers: nearly Gaussian, with variance 1
      for (let k = 0; k < 12; k++) sum += random();
      return sum;
    };
    const X = [];
    const y = [];
    for (let t = 0; t < nRows; t++) {
      const [a, b, c] = [normal(), normal(), normal()];
      const effect = 2 - (4 * t) / nRows; // of b: from 2 to -2
      const p = 2 * a + effect * b - 1.5 * c;
      X.push([unit * a, b, c]);
      y.push(random() < 1 / (1 + Math.exp(-p)) ? 1 : 0);
    }
    return { X, y };
  }

  globalThis.tryIt = { ...globalThis.tryIt, makeStream };
})();
