"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function make(space, tag, attributes, children) {
  const e = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v); else e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
}
const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
const s = (tag, attributes, ...children) => make(SVG, tag, attributes, children);
const count = n => n.toLocaleString("en-US");
const many = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
const size = n => n < 1e4 ? count(n) + " B" : n < 1e7 ? (n / 1e3).toFixed(1) + " kB" : n < 1e10 ? (n / 1e6).toFixed(1) + " MB" : (n / 1e9).toFixed(1) + " GB";
const number = x => x === undefined ? "" : Number.isInteger(x) && Math.abs(x) < 1e6 ? String(x) : Number(x.toPrecision(4)).toString();
const file = path => path.split("/").pop();
const GROUPS = ["low", "fp32", "left"];
const low = data.summary.dtype;
const groupName = {low, fp32: "fp32", left: "left as they were"};

// --- summary ---------------------------------------------------------------------------------------------------------

const summary = data.summary;
document.title = `${file(summary.model)} · ampc report`;
by("subtitle").textContent = `${summary.model} → ${summary.output}`;
by("program").textContent = `Written by ${data.program}.`;
const card = (kind, n, what) => h("div", {class: "card " + kind}, h("b", {}, typeof n === "number" ? count(n) : n), h("span", {}, what));
const warned = data.warnings.filter(w => w.severity !== "note").length;
const saved = data.memory.model.before ? 1 - data.memory.model.after / data.memory.model.before : 0;
by("cards").append(...GROUPS.map(g => card(g, summary.nodes[g], "nodes " + groupName[g])),
  card("cast", summary.casts_added, summary.casts_added === 1 ? "cast added" : "casts added"),
  card("", `${Math.round(Math.abs(saved) * 100)} %`, saved < 0 ? "larger" : "smaller"), card("", warned, warned === 1 ? "warning" : "warnings"));
by("cards").after(h("div", {class: "share", "aria-hidden": "true"},
  ...GROUPS.filter(g => summary.nodes[g]).map(g => h("i", {class: g, style: `flex:${summary.nodes[g]}`}))));
const settings = [["Level", summary.level], ["Low type", low], ["Follow nodes", summary.promote ? "promote" : summary.gray === "cut" ? "all at once, by the fewest bytes cast" : "one by one"],
  ["Opsets", Object.entries(summary.opsets).map(([d, v]) => `${d} ${v}`).join(", ")],
  ["Rules", `${summary.rules[0]}${summary.rules.length > 1 ? ` and ${many(summary.rules.length - 1, "import")}` : ""}`],
  ["Model", summary.model], ["Output", summary.output]];
if (summary.unchanged) settings.push(["Result", "nothing was to be done"]);
by("settings").append(...settings.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
for (const [what, title] of [["model", "Model with its data files"], ["weights", "Weights that were fp32"]]) {
  const m = data.memory[what], most = Math.max(m.before, m.after, 1);
  by("memory").append(h("div", {class: "memory"}, h("strong", {}, title), ...[["before", "plain"], ["after", "low"]].map(([when, color]) =>
    h("div", {}, h("span", {}, when), h("span", {class: "meter", "aria-hidden": "true"}, h("i", {class: color, style: `width:${100 * m[when] / most}%`})), h("span", {}, size(m[when]))))));
}

// --- tables ----------------------------------------------------------------------------------------------------------

// A column: [title, value of a row, kind ("number", "name", "code"), text of the value, whether it alarms].
function table(section, rows, columns, options) {
  const PAGE = 50;
  let shown = PAGE, sorted = options.sort, down = true, filter = "";
  const body = h("tbody"), caption = h("caption"), more = h("div", {class: "more"});
  const heads = columns.map(([title, , kind], i) => h("th", {scope: "col", class: kind === "number" ? "number" : ""},
    h("button", {type: "button", onclick: () => { down = sorted === i ? !down : kind === "number"; sorted = i; draw(); }}, title)));
  function draw() {
    let list = filter ? rows.filter(r => columns.some(c => c[2] !== "number" && String(c[1](r)).toLowerCase().includes(filter))) : rows.slice();
    if (sorted !== undefined) {
      const value = columns[sorted][1], sign = down ? -1 : 1;
      list.sort((a, b) => { const x = value(a) ?? -Infinity, y = value(b) ?? -Infinity; return x < y ? -sign : x > y ? sign : 0; });
    }
    heads.forEach((th, i) => i === sorted ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
    body.replaceChildren(...list.slice(0, shown).map(r => h("tr", {}, ...columns.map(([, value, kind, text, alarm]) => {
      const v = value(r), t = text ? text(v, r) : typeof v === "number" ? count(v) : v ?? "";
      return h("td", {class: (kind === "code" ? "name" : kind || "") + (alarm && alarm(v, r) ? " alarm" : "")}, kind === "code" ? h("code", {}, t) : t);
    }))));
    caption.textContent = options.caption + (list.length > shown ? ` The first ${count(shown)} of ${count(list.length)} are shown.` : "");
    more.replaceChildren(...(list.length > shown ? [h("button", {type: "button", onclick: () => { shown += 4 * PAGE; draw(); }}, `Show ${count(Math.min(4 * PAGE, list.length - shown))} more`)] : []));
  }
  if (!rows.length) { by(section).append(h("p", {}, options.none)); return; }
  if (options.filter) {
    const id = section + "-filter";
    by(section).append(h("p", {class: "filter"}, h("label", {for: id}, "Filter"), h("input", {id, type: "search", autocomplete: "off", spellcheck: "false",
      oninput: e => { filter = e.target.value.toLowerCase(); shown = PAGE; draw(); }})));
  }
  by(section).append(h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of " + section}, h("table", {}, caption, h("thead", {}, h("tr", {}, ...heads)), body)), more);
  draw();
}

table("operators", data.operators, [["Operator", r => r.domain === "ai.onnx" ? r.operator : r.domain + "::" + r.operator, "name"], ["Nodes", r => r.nodes, "number"],
  [low, r => r.low, "number"], ["fp32", r => r.fp32, "number"], ["left", r => r.left, "number"], ["Operands cast", r => r.cast_operands, "number"]],
  {sort: 1, caption: "How the nodes of each operator run.", none: "The model has no nodes."});
table("rules", data.rules, [["Place", r => `${r.file}:${r.line}:${r.column}`, "code"], ["Nodes", r => r.nodes, "number"], [low, r => r.low, "number"], ["fp32", r => r.fp32, "number"],
  ["left", r => r.left, "number"], ["Statement", r => r.text, "code"]], {sort: 1, caption: "Each statement with the number of nodes that it decided.", none: "No statement decided a node.", filter: true});
const loud = v => v > 0;
table("weights", data.weights, [["Weight", r => r.name, "name"], ["Shape", r => r.shape.join(" × "), ""], ["Stored as", r => r.stored + (r.clamped ? ", clamped" : ""), ""], ["Bytes before", r => r.bytes_before, "number", size],
  ["Bytes after", r => r.bytes_after, "number", size], ["Least", r => r.least, "number", number], ["Most", r => r.most, "number", number], ["Overflow", r => r.overflow, "number", undefined, loud],
  ["Underflow", r => r.underflow, "number"], ["Not finite", r => r.nonfinite, "number"]],
  {sort: 3, caption: `Weights in fp32: range, and elements that become infinite (overflow) or zero (underflow) when they are cast to ${low}.`, none: "The model has no weights in fp32.", filter: true});
const place = i => { const r = data.rules[i]; return r ? `${r.file}:${r.line}:${r.column}` : ""; };
table("nodes", data.nodes, [["Node", n => n.name, "name"], ["Operator", n => n.operator, ""], ["Type", n => n.type, ""], ["Reason", n => n.reason + (n.by ? `, ‘${n.by}’` : ""), ""], ["Rule", n => place(n.rule), "code"]],
  {caption: "Every node with what decided it.", none: "The model has no nodes.", filter: true});
by("warnings").append(...data.warnings.map(w => h("div", {class: "tell " + w.severity}, h("p", {}, h("strong", {}, `${w.severity} ${w.code}`), ": " + w.message),
  h("p", {class: "where"}, w.where), ...(w.notes || []).map(n => h("p", {}, n)), ...(w.help ? [h("p", {}, w.help)] : []))), ...(data.warnings.length ? [] : [h("p", {}, "None.")]));

// --- groups of nodes -------------------------------------------------------------------------------------------------

const CHUNK = 40;     // most children of a group
const AT_FIRST = 60;  // most boxes at the beginning
const N = data.nodes.length;
const leaf = (node, parent) => ({node, parent, label: data.nodes[node].operator, first: node, total: 1});
let groups = 0;

// One group a path segment, then, where a group has too many children, stretches of neighbours.
function build() {
  const root = {label: "model", children: [], names: new Map(), parent: null};
  for (let i = 0; i < N; ++i) {
    if (data.nodes[i].constant) continue;  // a weight in the form of a node
    let at = root;
    for (const part of (data.nodes[i].scope || "").split("/")) {
      if (!part) continue;
      let next = at.names.get(part);
      if (!next) { next = {label: part, children: [], names: new Map(), parent: at}; at.names.set(part, next); at.children.push(next); }
      at = next;
    }
    at.children.push(leaf(i, at));
  }
  finish(root);
  return root;
}
function finish(g) {
  g.names = null;
  g.id = groups++;
  while (g.parent && g.children.length === 1 && g.children[0].children) {
    g.label += "/" + g.children[0].label;
    g.children = g.children[0].children;
    g.children.forEach(c => { c.parent = g; });
  }
  g.children = g.children.map(c => { if (c.children && c.children.length === 1 && !c.children[0].children) { c.children[0].parent = g; return c.children[0]; } return c; });
  for (const c of g.children) if (c.children) finish(c);
  g.children.sort((a, b) => a.first - b.first);
  while (g.children.length > CHUNK) {
    const per = Math.max(Math.ceil(g.children.length / CHUNK), 8), list = [];
    for (let i = 0; i < g.children.length; i += per) {
      const part = {children: g.children.slice(i, i + per), parent: g, id: groups++};
      part.children.forEach(c => { c.parent = part; });
      sum(part);
      part.label = `${part.children[0].label} … ${part.children[part.children.length - 1].label}`;
      list.push(part);
    }
    g.children = list;
  }
  sum(g);
}
function sum(g) {
  g.total = 0; g.first = Infinity;
  g.counts = {low: 0, fp32: 0, left: 0};
  for (const c of g.children) {
    g.total += c.total;
    g.first = Math.min(g.first, c.first);
    if (c.counts) for (const k of GROUPS) g.counts[k] += c.counts[k]; else g.counts[data.nodes[c.node].group]++;
  }
}
const root = build(), leaves = new Array(N);
(function index(g) { for (const c of g.children) if (c.children) index(c); else leaves[c.node] = c; })(root);
const open = new Set([root]);

function openAtFirst() {
  open.clear(); open.add(root);
  let boxes = root.children.length;
  for (;;) {
    const shut = visible().filter(b => b.children && boxes + b.children.length - 1 <= AT_FIRST).sort((a, b) => b.total - a.total)[0];
    if (!shut) return;
    open.add(shut);
    boxes += shut.children.length - 1;
  }
}
function visible(g = root, list = []) {
  for (const c of g.children) if (c.children && open.has(c)) visible(c, list); else list.push(c);
  return list;
}

// --- picture ---------------------------------------------------------------------------------------------------------

let W = 150;
const H = 40, GAP_X = 18, GAP_Y = 34;
let boxes = [], elements = [], edges = [], chosen = null;
const castsOf = new Map();  // "maker,reader" -> casts
data.casts.forEach(c => { if (c.made_by !== undefined) for (const r of c.readers) { const k = c.made_by * N + r; if (!castsOf.has(k)) castsOf.set(k, []); castsOf.get(k).push(c); } });

function collect() {
  boxes = visible().sort((a, b) => a.first - b.first);
  const boxOf = new Int32Array(N).fill(-1);
  boxes.forEach((b, i) => {
    b.casts = 0;
    (function mark(x) { if (x.children) x.children.forEach(mark); else boxOf[x.node] = i; })(b);
  });
  const found = new Map();
  for (const [from, to] of data.edges) {
    const a = boxOf[from], b = boxOf[to], casts = castsOf.get(from * N + to);
    if (a === b || a < 0 || b < 0) continue;
    const key = a * boxes.length + b;
    let e = found.get(key);
    if (!e) { e = {a, b, casts: 0, texts: new Set()}; found.set(key, e); }
    if (casts) for (const c of casts) { e.casts++; e.texts.add(`${c.from} → ${c.to}`); }
  }
  for (const c of data.casts) {  // those that no edge between boxes shows
    const inside = new Set(c.readers.map(r => boxOf[r]).filter(b => b >= 0));
    const maker = c.made_by === undefined ? -1 : boxOf[c.made_by];
    if (maker < 0) for (const b of inside) boxes[b].casts++; else if (!c.readers.length || inside.has(maker)) boxes[maker].casts++;
  }
  edges = [...found.values()];
}
function place_boxes(width) {
  W = Math.min(150, Math.floor((width - 3 * GAP_X) / 2));
  const layer = new Int32Array(boxes.length), before = boxes.map(() => []);
  for (const e of edges) if (e.a < e.b) before[e.b].push(e.a);
  const layers = [];
  boxes.forEach((b, i) => {
    for (const p of before[i]) layer[i] = Math.max(layer[i], layer[p] + 1);
    (layers[layer[i]] ||= []).push(i);
  });
  const most = Math.max(2, Math.floor((width - GAP_X) / (W + GAP_X)));
  const rows = layers.flatMap(l => { const out = []; for (let i = 0; i < l.length; i += most) out.push(l.slice(i, i + most)); return out; });
  const broad = Math.max(...rows.map(r => r.length), 1) * (W + GAP_X) + GAP_X, total = Math.max(broad, Math.min(width, 3 * (W + GAP_X)));
  rows.forEach((row, y) => {
    const wish = i => before[i].length ? before[i].reduce((t, p) => t + boxes[p].x, 0) / before[i].length : total / 2 - W / 2;
    const list = row.map(i => [wish(i), i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let x = GAP_X;
    for (const [w, i] of list) { boxes[i].x = Math.max(x, w); x = boxes[i].x + W + GAP_X; }
    let right = total;
    for (const [, i] of list.reverse()) { boxes[i].x = Math.min(boxes[i].x, right - W - GAP_X); right = boxes[i].x; boxes[i].y = 16 + y * (H + GAP_Y); boxes[i].row = y; }
  });
  return [total, 16 + rows.length * (H + GAP_Y)];
}
const cut = (text, n) => text.length > n ? text.slice(0, n - 1) + "…" : text;
const mix = b => GROUPS.filter(g => b.counts[g]).map(g => `${count(b.counts[g])} ${g === "low" ? low : g}`).join(" · ");
function label(b) {
  const casts = b.casts ? `, ${many(b.casts, "cast")}` : "";
  if (b.children) return `${b.label}, group of ${many(b.total, "node")}: ${mix(b)}${casts}`;
  return `${b.label} ${data.nodes[b.node].name}: ${data.nodes[b.node].type}${casts}`;
}
function draw_box(b, i) {
  const letters = Math.floor(W / 7.8);
  const g = s("g", {class: "box" + (b.children ? "" : " " + data.nodes[b.node].group), role: "button", tabindex: "-1", "aria-label": label(b), transform: `translate(${b.x} ${b.y})`,
    onclick: () => { choose(i); if (b.children) toggle(b, true); }, onfocus: () => choose(i)});
  if (b.children) g.append(s("rect", {class: "under", x: 3, y: 3, width: W, height: H, rx: 6}));
  g.append(s("rect", {class: "body", width: W, height: H, rx: 6}), s("text", {x: 9, y: 16}, cut(b.label, letters)),
    s("text", {class: "second", x: 9, y: 31}, b.children ? cut((b.parent === root ? "" : b.parent.label + " · ") + many(b.total, "node"), b.casts ? letters - 2 : letters + 1) : cut(`${data.nodes[b.node].type} · ${data.nodes[b.node].name.split("/").pop()}`, b.casts ? letters - 3 : letters + 1)));
  if (b.children) {
    let x = 7;
    for (const k of GROUPS) if (b.counts[k]) { const w = (W - 14) * b.counts[k] / b.total; g.append(s("rect", {class: k, x, y: H - 5, width: Math.max(w, 1), height: 3})); x += w; }
  }
  if (b.casts) g.append(s("text", {class: "casts", x: W - 8, y: 31, "text-anchor": "end"}, "◆" + (b.casts > 1 ? count(b.casts) : "")));
  return g;
}
function draw() {
  collect();
  const [width, height] = place_boxes(by("picture").clientWidth - 2);
  const svg = s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${many(boxes.length, "box")} and ${many(edges.length, "edge")}`.replace("boxs", "boxes"), "aria-describedby": "graph-hint"});
  const marks = s("g", {"aria-hidden": "true"});
  const lines = s("g", {"aria-hidden": "true"});
  for (const e of edges) {
    const a = boxes[e.a], b = boxes[e.b], x1 = a.x + W / 2, y1 = a.y + H, x2 = b.x + W / 2, y2 = b.y, far = b.row - a.row;
    const bow = far > 1 && Math.abs(x1 - x2) < W ? (e.a % 2 ? 1 : -1) * (W / 2 + 14 + Math.min(far, 12) * 2) : 0, k = far > 1 ? Math.min(far * 26, 150) : 18;
    e.line = s("path", {class: "edge" + (e.casts ? " cast" : ""), d: `M${x1} ${y1}C${x1 + bow} ${y1 + k} ${x2 + bow} ${y2 - k} ${x2} ${y2}`});
    lines.append(e.line);
    if (!e.casts) continue;
    const x = far > 1 ? (x1 + x2) / 2 + .75 * bow : (x1 + x2) / 2, y = (y1 + y2) / 2;
    marks.append(s("path", {class: "mark", d: `M${x} ${y - 6}l6 6l-6 6l-6 -6z`}, s("title", {}, `${many(e.casts, "cast")}: ${[...e.texts].join(", ")}`)));
  }
  elements = boxes.map(draw_box);
  svg.append(lines, ...elements, marks);
  by("picture").replaceChildren(svg);
  const list = [...open].filter(g => g !== root && g.parent && shown(g)).sort((a, b) => a.first - b.first);
  by("opened").replaceChildren(...list.slice(0, 40).map(g => h("li", {}, h("button", {type: "button", "aria-label": "Close group " + path(g), onclick: () => toggle(g, false)}, path(g)))));
  if (elements.length) elements[0].setAttribute("tabindex", "0");
}
function shown(g) { for (let p = g.parent; p; p = p.parent) if (!open.has(p)) return false; return true; }
function path(g) { const parts = []; for (; g && g !== root; g = g.parent) parts.unshift(g.label); return parts.join(" / "); }
function choose(i) {
  elements.forEach((e, k) => { e.setAttribute("tabindex", k === i ? "0" : "-1"); e.classList.toggle("chosen", k === i); });
  for (const e of edges) e.line.classList.toggle("lit", e.a === i || e.b === i);
  if (chosen === boxes[i]) return;
  chosen = boxes[i];
  by("details").replaceChildren(...describe(chosen));
}
function describe(b) {
  const list = [];
  const row = (k, v) => { if (v) list.push(h("dt", {}, k), h("dd", {}, v)); };
  if (b.children) {
    row("Nodes", mix(b)); row("Casts in it", b.casts ? count(b.casts) : "");
    return [h("h3", {}, path(b)), h("dl", {}, ...list)];
  }
  const n = data.nodes[b.node];
  row("Operator", n.operator); row("Type", n.type + (n.removed ? ", removed" : "")); row("Reason", n.reason + (n.by ? `, ‘${n.by}’` : "")); row("Rule", place(n.rule)); row("Statement", n.rule === undefined ? "" : data.rules[n.rule].text);
  row("Casts that it reads", data.casts.filter(c => c.readers.includes(b.node)).map(c => `${c.of} ${c.from} → ${c.to}`).join(", "));
  return [h("h3", {}, n.name), h("dl", {}, ...list)];
}
function focus(b) {
  const i = boxes.indexOf(b);
  if (i < 0) return;
  choose(i);
  elements[i].focus({preventScroll: true});
  elements[i].scrollIntoView({block: "nearest", inline: "nearest"});
}
function toggle(g, on) {
  if (on) open.add(g); else open.delete(g);
  draw();
  focus(on ? boxes.find(b => { for (let p = b.parent; p; p = p.parent) if (p === g) return true; return false; }) : g);
}
by("picture").addEventListener("keydown", e => {
  const i = elements.indexOf(document.activeElement);
  if (i < 0) return;
  const b = boxes[i];
  const near = (dx, dy) => {
    let best = null, cost = Infinity;
    for (const o of boxes) {
      const x = (o.x - b.x) * dx, y = (o.row - b.row) * dy;
      if (dy ? y <= 0 : o.row !== b.row || x <= 0) continue;
      const c = dy ? y * 1e5 + Math.abs(o.x - b.x) : x;
      if (c < cost) { cost = c; best = o; }
    }
    return best;
  };
  const go = {ArrowDown: () => near(0, 1), ArrowUp: () => near(0, -1), ArrowRight: () => near(1, 0), ArrowLeft: () => near(-1, 0), Home: () => boxes[0], End: () => boxes[boxes.length - 1]}[e.key];
  if (go) { const o = go(); if (o) focus(o); }
  else if ((e.key === "Enter" || e.key === " ") && b.children) toggle(b, true);
  else if (e.key === "Backspace" && b.parent && b.parent !== root) toggle(b.parent, false);
  else if (e.key !== "Enter" && e.key !== " " && e.key !== "Backspace") return;
  e.preventDefault();
});
by("reset").addEventListener("click", () => { open.clear(); open.add(root); draw(); });
by("find").addEventListener("submit", e => {
  e.preventDefault();
  const text = by("find-text").value.toLowerCase();
  if (!text) return;
  let i = data.nodes.findIndex(n => n.name.toLowerCase() === text || n.name.split("/").pop().toLowerCase() === text);
  if (i < 0) i = data.nodes.findIndex(n => n.name.toLowerCase().includes(text));
  if (i < 0) { chosen = null; by("details").replaceChildren(h("p", {}, `No node has ‘${by("find-text").value}’ in its name.`)); return; }
  if (!leaves[i]) { chosen = null; by("details").replaceChildren(...describe({node: i})); return; }
  for (let p = leaves[i].parent; p; p = p.parent) open.add(p);
  draw();
  focus(leaves[i]);
});
by("legend").append(...GROUPS.map(g => h("li", {}, h("i", {class: g}), g === "low" ? low : groupName[g])), h("li", {}, h("i", {class: "cast"}), "cast"),
  ...(data.nodes.some(n => n.constant) ? [h("li", {}, "Nodes that are weights (Constant) are left out.")] : []));
by("details").append(h("p", {}, "Choose a box to see what decided it."));
if (root.children.length) { openAtFirst(); draw(); } else by("picture").append(h("p", {}, "There is nothing to draw."));
let width = innerWidth, later = 0;
addEventListener("resize", () => { if (innerWidth === width || !root.children.length) return; width = innerWidth; clearTimeout(later); later = setTimeout(draw, 100); });
})();
