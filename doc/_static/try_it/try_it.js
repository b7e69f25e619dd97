// The demonstration in each element with `data-try-it`: two sliders, and the mean losses
// of ScInOL2 and SGD so far, drawn row by row.
(() => {
  "use strict";

  const { ScInOL2, SGD, makeStream, meanLosses } = globalThis.tryIt;

  const N_ROWS = 2000;
  const N_FEATURES = 3;
  const DURATION = 6000; // ms
  const RATES = Array.from({ length: 25 }, (_, k) => 10 ** (-5 + k / 4));
  const GUESSING = Math.LN2; // loss of probability 1/2
  const [LOW, HIGH] = [0.35, 1]; // range of the axis of losses
  const HEIGHT = 300; // px
  const MARGIN = { left: 44, right: 116, top: 36, bottom: 32 };

  // Mean losses so far of ScInOL2, and of SGD with each rate.
  const cache = new Map();
  function curvesFor(unit) {
    if (!cache.has(unit)) {
      const stream = makeStream(N_ROWS, unit);
      cache.set(unit, {
        scinol2: meanLosses(new ScInOL2(N_FEATURES), stream),
        sgd: RATES.map((rate) => meanLosses(new SGD(N_FEATURES, rate), stream)),
      });
    }
    return cache.get(unit);
  }

  const inWords = (number, digits = 2) =>
    number.toLocaleString("en-US", { maximumSignificantDigits: digits });

  function lossInWords(loss, over = "more than ") {
    if (loss < 10) return loss.toFixed(2);
    return loss < 1000 ? inWords(loss, 3) : `${over}1,000`;
  }

  function unitInWords(exponent) {
    if (exponent === 0) return "unchanged";
    const size = exponent > 0 ? "large" : "small";
    return `${inWords(10 ** Math.abs(exponent))} times as ${size}`;
  }

  function summary(exponent, rate, rows) {
    const { scinol2, sgd } = curvesFor(10 ** exponent);
    const losses = sgd.map((curve) => curve[rows - 1]);
    const best = losses.indexOf(Math.min(...losses));
    const ratio = RATES[rate] / RATES[best];
    const error =
      rate === best
        ? "is the best on the slider, which is known only after the stream"
        : `is about ${inWords(Math.max(ratio, 1 / ratio))} times too ` +
          `${ratio > 1 ? "large" : "small"}: with ${inWords(RATES[best])}, the best ` +
          `on the slider, the loss would be ${lossInWords(losses[best])}`;
    return (
      `After ${inWords(rows, 4)} rows, with the first feature ${unitInWords(exponent)}: ` +
      `the mean loss of ScInOL2 is ${lossInWords(scinol2[rows - 1])}, as in every unit. ` +
      `The mean loss of SGD is ${lossInWords(losses[rate])}. Its learning rate, ` +
      `${inWords(RATES[rate])}, ${error}.`
    );
  }

  function html(id) {
    return `
      <div class="try-it-controls">
        <div class="try-it-control">
          <label for="${id}-unit">First feature multiplied by
            <strong data-value="unit"></strong></label>
          <input id="${id}-unit" type="range" min="-4" max="4" value="0">
        </div>
        <div class="try-it-control">
          <label for="${id}-rate">Learning rate of SGD
            <strong data-value="rate"></strong></label>
          <input id="${id}-rate" type="range" min="0" max="${RATES.length - 1}" value="12">
        </div>
        <div>
          <button type="button" data-action="play"></button>
          <button type="button" data-action="restart">Restart</button>
        </div>
      </div>
      <svg role="img" height="${HEIGHT}"
        aria-label="Mean loss so far against rows, of ScInOL2 and SGD">
        <clipPath id="${id}-clip"><rect></rect></clipPath>
        <g data-part="axes"></g>
        <g clip-path="url(#${id}-clip)">
          <path data-curve="SGD"></path><path data-curve="ScInOL2"></path>
        </g>
        <g data-part="labels"></g>
      </svg>
      <p role="status"></p>`;
  }

  const text = (x, y, anchor, content) =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`;

  // Labels from top to bottom, lowered where they would overlap.
  function apart(labels) {
    labels.sort((a, b) => a.place - b.place);
    labels.forEach((label, k) => {
      if (k > 0) label.place = Math.max(label.place, labels[k - 1].place + 18);
    });
    return labels;
  }

  class Demonstration {
    constructor(element, id) {
      element.innerHTML = html(id);
      const find = (selector) => element.querySelector(selector);
      this.svg = find("svg");
      this.status = find("[role=status]");
      this.play = find("[data-action=play]");
      this.unit = find(`#${id}-unit`);
      this.rate = find(`#${id}-rate`);
      this.unitValue = find("[data-value=unit]");
      this.rateValue = find("[data-value=rate]");
      this.shown = 0; // rows
      this.playing = false;

      this.unit.addEventListener("input", () => this.update());
      this.rate.addEventListener("input", () => this.update());
      this.play.addEventListener("click", () => {
        if (this.playing) this.stop();
        else this.start(this.shown);
      });
      find("[data-action=restart]").addEventListener("click", () => this.start(0));
      new ResizeObserver(() => this.draw()).observe(element);

      if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
        this.shown = N_ROWS;
      } else {
        const observer = new IntersectionObserver(([{ isIntersecting }]) => {
          if (!isIntersecting) return;
          observer.disconnect();
          if (this.shown === 0 && !this.playing) this.start(0);
        });
        observer.observe(this.svg);
      }
      this.update();
    }

    start(row) {
      this.shown = row;
      this.begun = performance.now() - (row / N_ROWS) * DURATION;
      this.playing = true;
      this.update();
      this.wait();
    }

    stop() {
      this.playing = false;
      this.update();
    }

    wait() {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame((now) => this.step(now));
    }

    step(now) {
      if (!this.playing) return;
      const row = Math.floor(((now - this.begun) / DURATION) * N_ROWS);
      this.shown = Math.max(1, Math.min(row, N_ROWS));
      this.draw();
      if (this.shown === N_ROWS) this.stop();
      else this.wait();
    }

    // What depends on the controls, and is not drawn for each row.
    update() {
      const [exponent, rate] = [+this.unit.value, +this.rate.value];
      const rows = this.shown;
      this.unit.setAttribute("aria-valuetext", unitInWords(exponent));
      this.rate.setAttribute("aria-valuetext", inWords(RATES[rate]));
      this.unitValue.textContent = inWords(10 ** exponent);
      this.rateValue.textContent = inWords(RATES[rate]);
      this.play.textContent = this.playing || rows === N_ROWS ? "Pause" : "Continue";
      this.play.disabled = !this.playing && rows === N_ROWS;
      if (this.playing) {
        this.status.textContent = "Each row is predicted, then learned …";
      } else if (rows > 0) {
        this.status.textContent = summary(exponent, rate, rows);
      }
      this.draw();
    }

    draw() {
      const { left, right, top, bottom } = MARGIN;
      const width = this.svg.clientWidth;
      const [end, base] = [width - right, HEIGHT - bottom];
      const x = (row) => left + (row / N_ROWS) * (end - left);
      const y = (loss) => base - ((loss - LOW) / (HIGH - LOW)) * (base - top);
      const part = (name) => this.svg.querySelector(`[data-part=${name}]`);
      this.svg.dataset.rows = this.shown;

      const ticks = [0.4, 0.6, 0.8, 1].map(
        (loss) =>
          `<path d="M${left} ${y(loss)}H${end}"></path>` +
          text(left - 8, y(loss) + 5, "end", loss.toFixed(1)),
      );
      part("axes").innerHTML =
        ticks.join("") +
        `<path data-curve="guessing" d="M${left} ${y(GUESSING)}H${end}"></path>` +
        text(left, 16, "start", "Mean loss so far (lower is better)") +
        text(end, HEIGHT - 10, "end", `row ${this.shown.toLocaleString("en-US")}`);
      const clip = this.svg.querySelector("clipPath rect");
      const box = { x: left, y: top, width: Math.max(0, end - left), height: base - top };
      for (const name in box) clip.setAttribute(name, box[name]);

      const { scinol2, sgd } = curvesFor(10 ** +this.unit.value);
      const curves = { ScInOL2: scinol2, SGD: sgd[+this.rate.value] };
      const labels = Object.entries(curves).map(([name, losses]) => {
        const points = [];
        for (let row = 4; row <= this.shown; row += 4) {
          const loss = Math.min(losses[row - 1], 2 * HIGH);
          points.push(`${x(row).toFixed(1)} ${y(loss).toFixed(1)}`);
        }
        const path = this.svg.querySelector(`[data-curve=${name}]`);
        path.setAttribute("d", points.length ? `M${points.join("L")}` : "");
        const loss = losses[Math.max(this.shown, 1) - 1];
        const value = lossInWords(loss, "&gt; ") + (loss > HIGH ? " ↑" : "");
        return { place: y(Math.min(loss, HIGH)) + 5, words: `${name} ${value}` };
      });
      labels.push({ place: y(GUESSING) + 5, words: "guessing" });
      part("labels").innerHTML = apart(labels)
        .map(({ place, words }) => text(end + 6, place, "start", words))
        .join("");
    }
  }

  document
    .querySelectorAll("[data-try-it]")
    .forEach((element, k) => new Demonstration(element, `try-it-${k}`));
})();
