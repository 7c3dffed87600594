"use strict";
(() => {
  const all = (s, e = document) => [...e.querySelectorAll(s)], one = s => document.querySelector(s);
  const length = +document.body.dataset.length, chart = one("#chart");
  let from = 0, to = length;  // the part of the run that is shown, in seconds

  // As tick_text() in report_timeline.cc.
  const tick = t => {
    if (t < 60) return +t.toFixed(3) + " s";
    const unit = t < 3600 ? 60 : 3600, rest = Math.round(t % unit / unit * 60);
    return Math.floor(t / unit) + (rest ? ":" + String(rest).padStart(2, "0") : "") + (unit == 60 ? " min" : " h");
  };
  const clock = t => {
    if (length < 600) t = Math.round(t * 100) / 100;
    const two = n => String(n).padStart(2, "0"), s = Math.floor(t);
    return two(Math.floor(s / 3600)) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60) + (length < 600 ? (t % 1).toFixed(2).slice(1) : "");
  };
  const amount = (v, unit) => {
    if (unit[0] != "B") return +v.toPrecision(unit ? 3 : 6) + (unit && " " + unit);
    let i = 0;
    for (; v >= 1000 && i < 5; ++i) v /= 1000;
    return +v.toPrecision(3) + " " + ["", "k", "M", "G", "T", "P"][i] + unit;
  };

  // ---- zoom

  const svg = (name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const a in attributes) e.setAttribute(a, attributes[a]);
    if (text) e.textContent = text;
    return e;
  };
  const ticks = () => {
    const steps = [.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200];
    const step = steps.find(s => (to - from) / s <= 6) || Math.max(86400, (to - from) / 12);
    for (const g of all(".ticks")) {
      const made = [];
      for (let t = Math.ceil(from / step) * step; t < to - (to - from) * .03; t += step) {
        const x = t / length * 100 + "%";
        made.push(svg("line", {x1: x, x2: x, y1: 0, y2: g.dataset.h}), svg("text", {x: x, dx: 4, y: 13}, tick(t)));
      }
      g.replaceChildren(...made);
    }
  };
  const show = (a, b) => {
    const least = length / 1e4;
    if (b - a < least) a = (a + b - least) / 2, b = a + least;
    if (b - a > length) b = a + length;
    if (a < 0) b -= a, a = 0;
    if (b > length) a -= b - length, b = length;
    from = Math.max(a, 0), to = b;
    const wide = length / (to - from) * 100;
    for (const z of all(".z")) z.setAttribute("x", -from / length * wide + "%"), z.setAttribute("width", wide + "%");
    ticks();
  };
  const tools = one(".tools");
  if (tools) tools.hidden = false;
  for (const b of all("[data-z]")) b.onclick = () => {
    const mid = (from + to) / 2, half = (to - from) * (b.dataset.z == "in" ? .25 : 1);
    b.dataset.z == "all" ? show(0, length) : show(mid - half, mid + half);
  };

  // ---- what is under the pointer

  const made = id => {
    const e = document.createElement("div");
    e.id = id, e.hidden = true;
    return document.body.appendChild(e);
  };
  const tip = made("tip"), cursor = made("cur"), selected = made("sel");
  // Ours is faster than the browser's.
  for (const t of all(".t title")) t.parentNode.dataset.title = t.textContent, t.remove();
  const points = path => path.points || (path.points = (() => {
    const found = [];
    let x = 0, y = 0;
    for (const [, letter, numbers] of path.getAttribute("d").matchAll(/([Mhl])([^Mhl]*)/g)) {
      const n = (numbers.match(/-?[\d.]+/g) || []).map(Number);
      if (letter == "M") [x, y] = n, found.push([x, y]);
      if (letter == "l") for (let i = 0; i + 1 < n.length; i += 2) found.push([x += n[i], y += n[i + 1]]);
    }
    return found;
  })());
  const value = (t, time) => {
    const path = t.querySelector(".v"), z = t.querySelector(".z");
    if (!path) return "";
    const box = z.viewBox.baseVal, x = time / length * box.width;
    let near = null;
    for (const p of points(path)) if (!near || Math.abs(p[0] + .5 - x) < Math.abs(near[0] + .5 - x)) near = p;
    const low = +t.dataset.l, high = +t.dataset.m;
    return near ? amount(high - near[1] / box.height * (high - low), t.dataset.u) : "";
  };
  const place = (e, x, y, w, h) => {
    e.hidden = false;
    e.style.left = x + "px", e.style.top = y + "px";
    if (w) e.style.width = w + "px";
    if (h) e.style.height = h + "px";
  };
  let drag = null;
  const hide = () => tip.hidden = cursor.hidden = selected.hidden = true;
  const time_at = (t, event) => {
    const box = t.getBoundingClientRect();
    return from + Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * (to - from);
  };
  const row_at = event => {
    const t = chart.querySelector(".t"), box = t.getBoundingClientRect();
    return Math.floor(((event.clientY - box.top) / box.height * t.getAttribute("height") - chart.dataset.top) / chart.dataset.row);
  };
  for (const t of all(".t")) {
    t.onpointermove = event => {
      const box = t.getBoundingClientRect(), time = time_at(t, event);
      const about = event.target.dataset.title || value(t, time);
      tip.textContent = clock(time) + (about ? "  " + about : "");
      place(tip, 0, 0);
      place(tip, Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4)), Math.max(4, event.clientY - tip.offsetHeight - 12));
      place(cursor, event.clientX, box.top, 0, box.height);
      if (drag) place(selected, Math.min(drag.x, event.clientX), box.top, Math.abs(event.clientX - drag.x) || 1, box.height);
    };
    t.onpointerdown = event => { if (!event.button && event.pointerType != "touch") drag = {x: event.clientX, time: time_at(t, event)}; event.preventDefault(); };
    t.onpointerup = event => {
      const begun = drag, time = time_at(t, event);
      drag = null, selected.hidden = true;
      if (begun && Math.abs(event.clientX - begun.x) > 6) show(Math.min(begun.time, time), Math.max(begun.time, time));
      else if (chart && chart.contains(t)) pick(row_at(event));
    };
    t.ondblclick = () => show(0, length);
    t.onpointerleave = () => { drag = null; hide(); };
  }
  addEventListener("scroll", hide, {passive: true});

  // ---- one rank

  const given = one("#envdata"), env = given && JSON.parse(given.textContent);
  const variables = rank => {
    const known = Object.assign({}, env.all, env.nodes[env.of[rank]]);
    env.names.forEach((name, i) => { if (env.ranks[rank][i] !== null) known[name] = env.ranks[rank][i]; });
    return known;
  };
  const show_environment = rank => {
    if (!env || !env.ranks[rank]) return;
    const known = variables(rank);
    one("#envrank").textContent = rank, one("#envpick input").value = rank;
    one("#env").replaceChildren(...Object.keys(known).sort().map(name => {
      const row = document.createElement("tr");
      for (const text of [name, known[name], env.why[name] || ""]) row.insertCell().textContent = text;
      return row;
    }));
  };
  const pick = rank => {
    const row = document.getElementById("r" + rank), box = one("#pick");
    if (rank < 0 || rank >= +chart.dataset.ranks) return;
    for (const r of all(".picked")) r.classList.remove("picked");
    box.hidden = false;
    box.textContent = "Rank " + rank + (row ? " on " + row.cells[1].textContent + ": " + row.cells[2].textContent + ". " : ". ");
    if (row) {
      row.classList.add("picked");
      for (const a of all("a", row)) box.append(a.cloneNode(true));
    }
    for (const [href, text] of [row && ["#r" + rank, "row"], env && ["#environment", "environment"]].filter(Boolean)) {
      const a = document.createElement("a");
      a.href = href, a.textContent = text;
      a.onclick = () => { if (row) for (let d = row.closest("details"); d; d = null) d.open = true; };
      box.append(a);
    }
    show_environment(rank);
  };
  if (env) {
    one("#envpick").hidden = false;
    one("#envpick input").oninput = event => show_environment(event.target.value);
  }
})();
