(function () {
  "use strict";
  // The charts share one time axis: zooming one zooms all. uPlot draws them with colours from
  // the style's variables, so that they follow the theme.
  var data = JSON.parse(document.getElementById("data").textContent);
  var root = document.documentElement, style = getComputedStyle(root);
  var view = { min: data.from, max: data.to };
  var least = Math.max(2 * Math.min.apply(null, data.charts.map(function (c) { return c.step; })), (data.to - data.from) / 1e5);
  var plots = [];

  function color(name) { return style.getPropertyValue("--" + name).trim(); }
  function pad(n) { return n < 10 ? "0" + n : "" + n; }
  function clock(s, withSeconds) {
    if (data.elapsed) {
      var n = Math.round(s), minutes = Math.floor(n / 60);
      return (n < 3600 ? minutes : Math.floor(n / 3600) + ":" + pad(minutes % 60)) + ":" + pad(n % 60);
    }
    // The axis leaves out gaps between runs; add them back here.
    (data.cuts || []).slice().reverse().forEach(function (c) { if (s >= c[0]) s += c[1]; });
    var d = new Date(Math.round(s * 1000)), hour = d.getUTCHours();
    var text = pad(hour) + ":" + pad(d.getUTCMinutes());
    if (withSeconds) text += ":" + pad(d.getUTCSeconds());
    if (data.cuts) return d.getUTCFullYear() + "-" + pad(d.getUTCMonth() + 1) + "-" + pad(d.getUTCDate()) + " " + text;
    if (view.max - view.min >= 86400 || (data.to - data.from >= 86400 && withSeconds)) {
      text = pad(d.getUTCMonth() + 1) + "-" + pad(d.getUTCDate()) + " " + text;
    }
    return text;
  }

  // Three digits and the unit that keeps them readable, like the text of the report.
  function number(x) {
    var a = Math.abs(x);
    if (a === 0) return "0";
    if (a < 1e-3 || a >= 1e15) return x.toExponential(1);
    if (a < 0.0995) return x.toPrecision(2);
    if (a >= 99.95) return Math.round(x).toLocaleString("en-US");
    return x.toFixed(a >= 9.995 ? 1 : 2);
  }
  function scaled(x, units) {
    for (var i = 0; i < units.length; i++) {
      if (Math.abs(x) >= units[i][0] * 0.9995 || i === units.length - 1) return number(x / units[i][0]) + " " + units[i][1];
    }
  }
  function long(x) {
    var s = Math.round(x) >= 3600 ? Math.round(x / 60) * 60 : Math.round(x);
    return [[Math.floor(s / 3600), "h"], [Math.floor(s / 60) % 60, "m"], [s % 60, "s"]].filter(function (p) { return p[0] > 0; })
      .map(function (p) { return p[0].toLocaleString("en-US") + p[1]; }).join("");
  }
  function value(x, unit) {
    if (x === 0) return unit === "ratio" ? "0 %" : "0";
    switch (unit) {
      case "seconds": return x < 120 ? scaled(x, [[1, "s"], [1e-3, "ms"], [1e-6, "us"]]) : long(x);
      case "bytes": return scaled(x, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
      case "bytes/s": return scaled(x, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]) + "/s";
      case "ratio": return number(100 * x) + " %";
      case "1/s": return number(x) + "/s";
    }
    return number(x) + (unit ? " " + unit : "");
  }
  function tick(x, unit) {
    return value(x, unit).replace(/^(-?[\d,]*\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
  }

  function hatch(ctx) {
    var c = document.createElement("canvas");
    c.width = c.height = 6 * devicePixelRatio;
    var g = c.getContext("2d");
    g.strokeStyle = color("muted");
    g.lineWidth = 1.5 * devicePixelRatio;
    g.beginPath();
    [-1, 0, 1].forEach(function (i) { g.moveTo(i * c.width, c.height); g.lineTo((i + 1) * c.width, 0); });
    g.stroke();
    return ctx.createPattern(c, "repeat");
  }

  // Stalls are a tint with an edge on top, checkpoints a hatched strip below, so they differ without colour too.
  function bands(u) {
    var ctx = u.ctx, box = u.bbox, px = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    (data.bands || []).forEach(function (b) {
      b.spans.forEach(function (s) {
        if (s[1] < view.min || s[0] > view.max) return;
        var x = u.valToPos(s[0], "x", true), w = Math.max(px, u.valToPos(s[1], "x", true) - x);
        if (b.kind === "stall") {
          ctx.fillStyle = color("stall");
          ctx.globalAlpha = 0.13;
          ctx.fillRect(x, box.top, w, box.height);
          ctx.globalAlpha = 1;
          ctx.fillRect(x, box.top, w, 3 * px);
        } else {
          w = Math.max(2 * px, w);
          ctx.fillStyle = w < 8 * px ? color("muted") : hatch(ctx);
          ctx.fillRect(x, box.top + box.height - 6 * px, w, 6 * px);
        }
      });
    });
    // A mark is a line from top to bottom, with a flag that the edge of stalls does not hide.
    (data.marks || []).forEach(function (m) {
      if (m.at < view.min || m.at > view.max) return;
      var x = u.valToPos(m.at, "x", true);
      ctx.fillStyle = color("text");
      ctx.fillRect(x - px / 2, box.top, px, box.height);
      ctx.beginPath();
      ctx.moveTo(x, box.top);
      ctx.lineTo(x + 7 * px, box.top + 4 * px);
      ctx.lineTo(x, box.top + 8 * px);
      ctx.fill();
    });
    ctx.restore();
  }

  function limit(chart) {
    return function (u) {
      if (!chart.limit || chart.limit > u.scales.y.max || chart.limit < u.scales.y.min) return;
      var y = u.valToPos(chart.limit, "y", true), ctx = u.ctx;
      ctx.save();
      ctx.strokeStyle = color("stall");
      ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y);
      ctx.lineTo(u.bbox.left + u.bbox.width, y);
      ctx.stroke();
      ctx.restore();
    };
  }

  var cursorOut = document.getElementById("cursor");
  function readout(chart, outs) {
    return function (u) {
      var i = u.cursor.idx, last = u.data[0].length - 2;
      if (i > last) i = last;
      outs.forEach(function (out, k) {
        var values = k < chart.series.length ? u.data[k + 1] : chart.counts; // after the series: the number of operations
        var v = i == null ? null : values[i];
        out.textContent = v == null ? "" : k < chart.series.length ? value(v, chart.unit) : v.toLocaleString("en-US");
      });
      if (i != null) cursorOut.textContent = clock(u.data[0][i], true);
      else cursorOut.textContent = "";
    };
  }

  // Latencies differ by orders of magnitude, so their axis can be logarithmic, between powers of ten or 3 times those.
  // The axis of percentiles always is.
  var logTimes = false;
  function decades(u, min, max) {
    if (!(max > 0)) return [1e-3, 1];
    min = Math.max(min, 1e-6);
    var low = Math.pow(10, Math.floor(Math.log10(min) + 1e-9)), high = Math.pow(10, Math.ceil(Math.log10(max) - 1e-9));
    if (min >= 3.06 * low) low *= 3;
    else if (min < 1.02 * low) low *= 0.3; // a line at the very edge would be invisible
    if (max <= 0.3 * high) high *= 0.3;
    return [low, high > low ? high : 10 * low];
  }
  function positive(v) { return v > 0 ? v : null; }
  // A logarithmic axis has lines at powers of ten, and at 3 times those if there are few.
  function sparse(u, at) {
    var few = Math.log10(u.scales.y.max / u.scales.y.min) < 2.5;
    return at.map(function (y) {
      var e = Math.floor(Math.log10(y) + 1e-6), lead = y / Math.pow(10, e);
      return Math.abs(lead - 1) < 1e-3 || few && Math.abs(lead - 3) < 1e-3 ? y : null;
    });
  }

  var dashes = [[], [6, 3], [2, 2], [8, 2, 2, 2]];
  function build(chart) {
    var log = chart.log || logTimes && chart.unit === "seconds", figure = document.getElementById(chart.id), live = figure.querySelector(".live");
    var n = Math.max.apply(null, chart.series.map(function (s) { return s.values.length; })), xs = new Array(n);
    for (var i = 0; i <= n; i++) xs[i] = chart.from + i * chart.step; // one more, for the end of the last step
    var axis = function (more) {
      return Object.assign({
        stroke: function () { return color("muted"); },
        font: "11px system-ui, sans-serif",
        grid: { stroke: function () { return color("rule"); }, width: 1 },
        ticks: { show: false }
      }, more);
    };
    var u = new uPlot({
      width: live.clientWidth || 600, height: 112, padding: [6, 30, 0, 0], legend: { show: false },
      tzDate: function (s) { return uPlot.tzDate(new Date(s * 1000), "Etc/UTC"); },
      cursor: {
        y: false, points: { size: 6 }, sync: { key: "plimsoll", scales: ["x", null], filters: { pub: function (type) { return type === "mousemove" || type === "mouseleave"; } } },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: function () { return function () { show(data.from, data.to); return null; }; } }
      },
      scales: {
        x: { time: true, range: function () { return [view.min, view.max]; } },
        y: log ? { distr: 3, range: decades } : { range: function (u, min, max) {
          if (chart.unit === "ratio" && max > 0.5 && max <= 1.0001) return [0, 1.06];
          return [Math.min(0, min || 0), max > 0 ? max * 1.08 : 1];
        } }
      },
      axes: [
        axis({ size: 22, space: 90, values: function (u, at, k, space, step) { return at.map(function (s) { return clock(s, step < 60); }); } }),
        axis(Object.assign({ size: 66, space: 28, values: function (u, at) { return at.map(function (y) { return y == null ? "" : tick(y, chart.unit); }); } },
          log ? { filter: sparse, grid: { stroke: function () { return color("rule"); }, width: 1, filter: sparse } } : {}))
      ],
      series: [{}].concat(chart.series.map(function (s) {
        return {
          label: s.name, stroke: function () { return color("s" + s.style); }, width: 1.4, dash: dashes[s.style - 1],
          paths: uPlot.paths.stepped({ align: 1, alignGaps: 1 }), points: { show: false }, spanGaps: false
        };
      })),
      hooks: {
        setScale: [function (u, key) {
          if (key === "x") live.dataset.view = (u.scales.x.min - data.from) + " " + (u.scales.x.max - data.from);
        }],
        drawClear: [bands], draw: [limit(chart)],
        setCursor: [readout(chart, Array.prototype.slice.call(figure.querySelectorAll(".series output")))],
        setSelect: [function (u) {
          if (u.select.width < 4) return;
          var from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          show(from, to);
        }]
      }
    }, [xs].concat(chart.series.map(function (s) {
      var values = log ? s.values.map(positive) : s.values.slice();
      if (values.length === n) values.push(values[n - 1]);
      return values;
    })), live);
    plots.push({ plot: u, box: live });
  }

  // show zooms all charts to a range, limited to the recorded time.
  function show(from, to) {
    var whole = data.to - data.from, wide = Math.min(Math.max(to - from, least), whole), middle = (from + to) / 2;
    view.min = Math.min(Math.max(middle - wide / 2, data.from), data.to - wide);
    view.max = view.min + wide;
    plots.forEach(function (p) {
      p.plot.setScale("x", { min: view.min, max: view.max });
    });
    root.dataset.zoomed = wide < whole ? "yes" : "no";
    keep();
  }

  // The view survives a reload, which watch triggers as its diagnosis progresses, per tab and page. A range that reached the
  // end keeps doing so. A page without storage forgets the view.
  var key = "plimsoll-view " + location.pathname;
  function keep() {
    try {
      if (root.dataset.zoomed === "no" && !logTimes) sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, JSON.stringify({ from: view.min, to: view.max, end: data.to, log: logTimes }));
    } catch (e) { /* not allowed here */ }
  }
  function recall() {
    var kept = null;
    try { kept = JSON.parse(sessionStorage.getItem(key)); } catch (e) { /* nothing that we kept */ }
    if (!kept || !(kept.from < kept.to)) return null;
    var on = kept.to >= kept.end ? data.to - kept.to : 0;
    logTimes = kept.log === true;
    return kept.to + on > data.from && kept.from + on < data.to ? [kept.from + on, kept.to + on] : null;
  }
  var moves = {
    "in": function (w) { show(view.min + w / 4, view.max - w / 4); },
    out: function (w) { show(view.min - w / 2, view.max + w / 2); },
    left: function (w) { show(view.min - w / 4, view.max - w / 4); },
    right: function (w) { show(view.min + w / 4, view.max + w / 4); },
    all: function () { show(data.from, data.to); }
  };
  function move(name) { moves[name](view.max - view.min); }
  var keyed = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", "0": "all", Escape: "all" };
  function keys(e) {
    if (!keyed[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    move(keyed[e.key]);
  }

  function rescale(button) {
    logTimes = !logTimes;
    button.setAttribute("aria-pressed", logTimes);
    plots.forEach(function (p) { p.plot.destroy(); });
    plots = [];
    data.charts.forEach(build);
    keep();
  }

  var kept = recall(), tools = document.querySelector(".tools");
  data.charts.forEach(build);
  plots.forEach(function (p) { p.box.addEventListener("keydown", keys); });
  root.dataset.zoomed = "no";
  tools.querySelector("[data-do=log]").setAttribute("aria-pressed", logTimes);
  if (kept) show(kept[0], kept[1]);
  tools.hidden = false;
  tools.addEventListener("click", function (e) {
    var what = e.target.dataset.do;
    if (what === "log") rescale(e.target);
    else if (what) move(what);
  });
  // A time in the text zooms to that range, with as much before and after it.
  document.addEventListener("click", function (e) {
    var a = e.target.closest && e.target.closest("a[data-from]");
    if (!a) return;
    var from = +a.dataset.from, to = +a.dataset.to, margin = Math.max(to - from, 2 * least);
    show(from - margin, to + margin);
  });
  document.addEventListener("themechange", function () { plots.forEach(function (p) { p.plot.redraw(); }); });
  new ResizeObserver(function () {
    plots.forEach(function (p) {
      var w = p.box.clientWidth;
      if (w > 0 && w !== p.plot.width) p.plot.setSize({ width: w, height: 112 });
    });
  }).observe(document.getElementById("charts"));
  root.dataset.ready = "yes";
})();
