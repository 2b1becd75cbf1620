"use strict";
// The page is complete without this script: every source is in a `pre`. The script adds line numbers, colours and links.
// Lines are linked by rows: `data-rows` gives each line of a source the line of the Python pane it came from, 0 for none,
// in runs ("0*14 5 6*2"). Sources are inserted into the document as text only, never as markup.

const LANGUAGES = {
  python: {
    comment: /#.*/, words: "and as assert break class continue def del elif else except for from if import in is lambda match case not or pass raise return while with yield",
    types: "True False None int float bool ti range",
  },
  c: {
    comment: /\/\/.*|\/\*.*?\*\/|^\s*#\s*\w+/, words: "break case continue do else extern for if return static switch while layout uniform buffer inline struct const readonly writeonly coherent restrict shared typedef void __global__ __device__ __shared__ __launch_bounds__ __restrict__ in out inout",
    types: "bool char short int long unsigned float double half uint vec2 vec3 vec4 ivec2 ivec3 ivec4 uvec2 uvec3 uvec4 mat2 mat3 mat4 int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t",
  },
  ir: {
    comment: /#.*/, value: /\$\d+'?/, words: "kernel task function for in if else while do yield break continue return store load global atomic step over field temporary struct range_for serial",
    types: "i8 i16 i32 i64 u1 u8 u16 u32 u64 f16 f32 f64 ndarray",
  },
  spirv: { comment: /;.*/, value: /%\w+/, keyword: /\bOp\w+/, words: "", types: "" },
  ptx: { comment: /\/\/.*/, value: /%\w+/, keyword: /^\s*(?:@!?%\w+\s+)?[a-z][\w]*(?:[.:]+[\w:]+)*/, words: "", types: "" },
  sass: { comment: /\/\/.*|\/\*.*?\*\//, value: /\b(?:U?R|U?P)(?:\d+|Z|T)\b/, keyword: /\b[A-Z][A-Z0-9]{1,}(?:\.[\w.]+)*/, words: "", types: "" },
  diff: { words: "", types: "" },
};
for (const language of Object.values(LANGUAGES)) {
  const word = list => list ? `\\b(?:${list.split(" ").join("|")})\\b` : "(?!)";
  const part = pattern => pattern ? pattern.source : "(?!)";
  language.pattern = new RegExp([
    `(?<c>${part(language.comment)})`, `(?<s>"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')`, `(?<v>${part(language.value)})`,
    `(?<k>${language.keyword ? part(language.keyword) : word(language.words)})`, `(?<t>${word(language.types)})`,
    `(?<d>\\b(?:0[xX][\\da-fA-F]+|\\d+\\.?\\d*(?:[eE][+-]?\\d+)?)[uUlLfF]*\\b)`,
  ].join("|"), "g");
}

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** "0*2 5 7*3" -> [0, 0, 5, 7, 7, 7]; with `counting`, "7+3" -> [7, 8, 9]. */
function unpack(runs) {
  const found = [];
  for (const run of (runs || "").split(" ")) {
    const [, first, kind, count] = /^(\d+)([*+]?)(\d*)$/.exec(run) || [];
    for (let i = 0; i < (first === undefined ? 0 : Number(count || 1)); i++) found.push(Number(first) + (kind === "+" ? i : 0));
  }
  return found;
}

function paint(line, text, language) {
  let end = 0;
  for (const match of text.matchAll(language.pattern)) {
    if (!match[0]) continue;
    if (match.index > end) line.append(text.slice(end, match.index));
    const kind = Object.keys(match.groups).find(name => match.groups[name] !== undefined);
    line.append(make("span", { className: kind, textContent: match[0] }));
    end = match.index + match[0].length;
  }
  line.append(text.slice(end) + "\n");
}

/**
 * The lines of a source as data: {text, sign, row, number}. A list of changes omits unchanged lines ("@12 lines as
 * before"); they are filled in from `before`, the lines of the previous form, with `isFilled`.
 */
function linesOf(pre, before) {
  if (pre.lines) return pre.lines;
  const texts = pre.textContent.split("\n");
  const rows = unpack(pre.dataset.rows), numbers = unpack(pre.dataset.numbers);
  pre.language = LANGUAGES[pre.dataset.language.replace("-changes", "")] || LANGUAGES.diff;
  if (pre.dataset.language.endsWith("-changes")) {
    pre.lines = changedLines(pre, texts, rows, before || []);
  } else {
    const isListing = [LANGUAGES.spirv, LANGUAGES.ptx, LANGUAGES.sass].includes(pre.language);
    pre.lines = texts.map((text, i) => ({ text: isListing ? inColumns(text, pre.language) : text, sign: " ", row: rows[i] || 0, number: numbers.length ? numbers[i] || "" : i + 1 }));
  }
  return pre.lines;
}

/** A line of a listing, its parts in columns: the page has them without. */
function inColumns(text, language) {
  const [, code, comment] = /^(.*?)(?: ((?:\/\/|;) \S+:\d+))?$/.exec(text);
  const [, result, operation] = language === LANGUAGES.spirv ? /^(?:(%\w+) = )?(Op.*)$/.exec(code) || [] : [];
  const head = operation ? (result ? `${result} = ` : "").padStart(15) + operation : code;
  return comment ? `${head.padEnd(60)} ${comment}` : head;
}

function changedLines(pre, texts, rows, before) {
  const values = new Map();
  for (const run of (pre.dataset.values || "").split(" ")) {
    const [from, to, count] = run.split(/[>*]/).map(Number);
    for (let i = 0; i < (count || 0); i++) values.set(from + i, to + i);
  }
  const renumber = text => text.replace(/\$(\d+)/g, (value, number) => values.has(Number(number)) ? `$${values.get(Number(number))}` : value);
  const lines = [];
  let at = 0, number = 0;
  texts.forEach((text, i) => {
    const sign = text[0] || " ", skipped = sign === "@" && /^@(\d+) lines as before(?:, (-?\d+) further in)?/.exec(text);
    if (skipped) {
      for (let k = 0; k < Number(skipped[1]); k++) {
        const old = before[at++] || { text: "", row: 0 }, further = Number(skipped[2] || 0);
        const moved = further < 0 ? old.text.slice(-further) : " ".repeat(further) + old.text;
        lines.push({ text: renumber(moved), sign: " ", row: old.row, number: ++number, isFilled: true });
      }
      return;
    }
    if (sign !== "+") at++;
    lines.push({ text: text.slice(1), sign, row: rows[i] || 0, number: sign === "-" ? "" : ++number });
  });
  return lines;
}

/** Replace the content of `pre` by `lines`, each an element of its own. */
function show(pre, lines, language, signs) {
  const elements = lines.map(line => {
    const element = make("span", { className: "line" });
    element.dataset.n = line.number;
    if (line.row) {
      element.dataset.row = line.row;
      element.style.setProperty("--hue", (line.row * 137.5) % 360);
    }
    if (signs) {
      element.append(make("span", { className: "sign", textContent: line.sign === "-" ? "−" : line.sign }));
      if (line.sign === "-") element.classList.add("gone");
      if (line.sign === "+") element.classList.add("new");
    }
    paint(element, line.text, language);
    return element;
  });
  pre.replaceChildren(...elements);
  pre.tabIndex = 0;
}

/** Hide lines that were filled in; a button shows them. */
function fold(pre, lines) {
  const elements = [...pre.children];
  for (let i = 0; i < lines.length; i++) {
    let end = i;
    while (end < lines.length && lines[end].isFilled) end++;
    if (end === i) continue;
    const hidden = elements.slice(i, end);
    const button = make("button", { className: "fold", type: "button", textContent: `${hidden.length} lines as before` });
    button.onclick = () => { button.remove(); hidden.forEach(element => { element.hidden = false; }); };
    hidden[0].before(button);
    hidden.forEach(element => { element.hidden = true; });
    i = end;
  }
}

class KernelView {
  constructor(article) {
    this.article = article;
    this.panes = [...article.querySelectorAll(".pane")];
    this.held = 0;
    this.lit = 0;
    this.called = new Map();  // row -> rows of functions inlined into it
    this.callers = new Map();
    for (const pair of (article.dataset.calls || "").split(" ").filter(Boolean)) {
      const [row, call] = pair.split(">").map(Number);
      this.called.set(call, [...this.called.get(call) || [], row]);
      this.callers.set(row, [...this.callers.get(row) || [], call]);
    }
  }

  /** The rows reachable from a row, including itself. */
  reach(row, next) {
    const found = new Set([row]);
    for (const at of found) for (const other of next.get(at) || []) found.add(other);
    return found;
  }

  /**
   * The lines of a row and of functions that it calls. In a pane that has none, the lines of its callers, into which it
   * was inlined.
   */
  linesOfRow(row) {
    const found = [];
    for (const lines of this.index.values()) {
      let rows = this.reach(row, this.called);
      if (![...rows].some(other => lines.has(other))) rows = this.reach(row, this.callers);
      for (const other of rows) found.push(...lines.get(other) || []);
    }
    return found;
  }

  /** Create the elements of the lines, once, when the kernel is first shown. */
  open() {
    if (this.isOpen) return;
    this.isOpen = true;
    this.histories = [...this.article.querySelectorAll(".passes")];
    for (const history of this.histories) {
      let before = [];
      for (const pre of history.querySelectorAll("pre")) before = linesOf(pre, before).filter(line => line.sign !== "-");
    }
    for (const pane of this.panes) {
      const pre = pane.querySelector("pre"), title = pane.querySelector("h3");
      if (!pre) continue;
      const lines = linesOf(pre);
      show(pre, lines, pre.language, false);
      pane.append(make("div", { className: "strip" }));
      if (pane.dataset.pane === "ir") title.append(this.stages(pre, lines));
      const copy = make("button", { className: "bare", type: "button", textContent: "copy", title: "Copy the source of this pane" });
      copy.onclick = () => this.copy(pre, copy);
      title.append(copy);
    }
    this.histories.forEach(history => this.openHistory(history));
    for (const pre of this.article.querySelectorAll(".edits pre")) {
      const lines = linesOf(pre);
      lines.forEach((line, i) => { line.isFilled = lines.slice(Math.max(0, i - 3), i + 4).every(other => other.sign === " "); });
      show(pre, lines, pre.language, true);
      fold(pre, lines);
    }
    this.bar();
    this.article.addEventListener("mouseover", event => this.hover(event));
    this.article.addEventListener("mouseleave", () => this.light(this.held));
    this.article.addEventListener("click", event => this.click(event));
    this.article.addEventListener("keydown", event => this.key(event));
  }

  bar() {
    const bar = make("div", { className: "bar" });
    for (const pane of this.panes) {
      const button = make("button", { type: "button", textContent: pane.querySelector("h3").firstChild.textContent.trim() });
      button.dataset.pane = pane.dataset.pane;
      button.onclick = () => { pane.hidden = !pane.hidden; this.chosen(); };
      bar.append(button);
    }
    const wrap = make("button", { className: "wrap", type: "button", textContent: "wrap lines" });
    wrap.setAttribute("aria-pressed", "false");
    wrap.onclick = () => {
      wrap.setAttribute("aria-pressed", String(this.article.classList.toggle("wrapped")));
      if (this.held) this.align(this.at);
    };
    bar.append(wrap);
    const theme = make("button", { className: "theme", type: "button", textContent: "light / dark" });
    theme.onclick = () => {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    };
    bar.append(theme);
    this.article.querySelector(".panes").before(bar);
  }

  /** Show the panes with these names, or those that fit if there are none. */
  choose(names) {
    const width = window.innerWidth, fits = width > 1700 ? 4 : width > 1100 ? 3 : 2;
    const usual = ["python", "glsl", "cuda", "ir", "c"].filter(name => this.panes.some(p => p.dataset.pane === name && p.querySelector("pre")));
    const named = this.panes.map(pane => pane.dataset.pane).filter(name => names.includes(name));
    const shown = named.length ? named : usual.slice(0, fits);
    for (const pane of this.panes) pane.hidden = !shown.includes(pane.dataset.pane);
    this.chosen();
  }

  chosen() {
    for (const button of this.article.querySelectorAll(".bar button[data-pane]")) {
      const pane = this.panes.find(p => p.dataset.pane === button.dataset.pane);
      button.setAttribute("aria-pressed", String(!pane.hidden));
    }
    remember(this);
    this.marks();
  }

  /** A selection of the forms of the IR, from the passes section. */
  stages(pre, last) {
    const select = make("select", { title: "Form of the IR" });
    const forms = [[`final`, last]];
    for (const history of this.histories) {
      for (const stage of history.querySelectorAll(".stage")) {
        const text = stage.querySelector("pre"), lines = linesOf(text).filter(line => line.sign !== "-");
        const name = this.histories.length > 1 ? `${stage.dataset.stage} (${history.dataset.history})` : stage.dataset.stage;
        forms.push([name, lines]);
      }
    }
    forms.forEach(([name], i) => select.append(make("option", { value: i, textContent: name })));
    select.onchange = () => { show(pre, forms[select.value][1], pre.language, false); this.index = null; this.light(this.held, true); };
    return select;
  }

  openHistory(history) {
    const stages = [...history.querySelectorAll(".stage")], steps = make("div", { className: "steps" });
    const choose = chosen => stages.forEach((stage, i) => {
      stage.hidden = i !== chosen;
      steps.children[i].setAttribute("aria-pressed", String(i === chosen));
      const pre = stage.querySelector("pre");
      if (i === chosen && !stage.isOpen) {
        stage.isOpen = true;
        const lines = linesOf(pre), changes = pre.dataset.language.endsWith("-changes");
        show(pre, lines, pre.language, changes);
        if (changes) fold(pre, lines);
        this.index = null;
        this.light(this.held, true);
      }
    });
    stages.forEach((stage, i) => {
      const counts = stage.querySelector("h4 small");
      const button = make("button", { type: "button" }, make("span", { textContent: stage.dataset.stage }), make("small", { textContent: counts ? counts.textContent : "" }));
      button.onclick = () => choose(i);
      steps.append(button);
    });
    history.querySelector(".stages").prepend(steps);
    if (stages.length) choose(Math.min(2, stages.length - 1));
  }

  copy(pre, button) {
    const text = [...pre.querySelectorAll(".line")].map(line => line.textContent).join("");
    const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1200); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => getSelection().selectAllChildren(pre));
    else getSelection().selectAllChildren(pre);
  }

  hover(event) {
    const value = event.target.closest(".v"), line = event.target.closest(".line");
    this.sameValues(value);
    const row = line ? Number(line.dataset.row || 0) : 0;
    this.light(row || this.held);
    clearTimeout(this.waiting);
    if (row && !this.held) this.waiting = setTimeout(() => this.follow(line), 200);
  }

  /** Underline all occurrences of a value in the same source. */
  sameValues(value) {
    for (const other of this.same || []) other.classList.remove("same");
    this.same = value ? [...value.closest("pre").querySelectorAll(".v")].filter(v => v.textContent === value.textContent) : [];
    for (const other of this.same) other.classList.add("same");
  }

  click(event) {
    const line = event.target.closest(".line");
    if (!line || String(getSelection())) return;
    const row = Number(line.dataset.row || 0);
    this.hold(row === this.held ? 0 : row, line);
  }

  key(event) {
    if (event.key === "Escape") return this.hold(0);
    const pre = event.target.closest("pre"), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!pre || !step || event.ctrlKey || event.altKey || event.metaKey) return undefined;
    event.preventDefault();
    const lines = [...pre.querySelectorAll(".line[data-row]")].filter(line => !line.hidden);
    const next = lines[Math.max(0, Math.min(lines.length - 1, lines.indexOf(this.at) + step))];
    if (next) {
      this.at = next;
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
      this.hold(Number(next.dataset.row), next);
    }
    return undefined;
  }

  hold(row, line) {
    this.held = row;
    this.light(row, true);
    remember(this);
    if (row) {
      this.at = line;
      this.align(line);
    }
  }

  /** Highlight all lines of a row; with `again` even if the row is highlighted already. */
  light(row, again) {
    if (row === this.lit && !again) return;
    if (!this.index) {
      this.index = new Map();
      for (const line of this.article.querySelectorAll(".line[data-row]")) {
        const pre = line.parentElement, key = Number(line.dataset.row);
        if (!this.index.has(pre)) this.index.set(pre, new Map());
        const lines = this.index.get(pre);
        if (!lines.has(key)) lines.set(key, []);
        lines.get(key).push(line);
      }
    }
    for (const line of this.article.querySelectorAll(".lit, .held")) line.classList.remove("lit", "held");
    if (this.held) for (const line of this.linesOfRow(this.held)) line.classList.add("held");
    if (row) for (const line of this.linesOfRow(row)) line.classList.add("lit");
    this.lit = row;
    this.marks();
  }

  /** Mark the highlighted lines of each pane next to its scroll bar. */
  marks() {
    for (const pane of this.panes) {
      const strip = pane.querySelector(".strip"), pre = pane.querySelector("pre");
      if (!strip || pane.hidden) continue;
      strip.replaceChildren();
      if (pre.scrollHeight <= pre.clientHeight) continue;
      const total = pre.children.length || 1;
      [...pre.children].forEach((line, i) => {
        if (!line.classList.contains("lit")) return;
        const mark = make("i");
        Object.assign(mark.style, { position: "absolute", right: 0, width: "5px", top: `${100 * i / total}%`, height: `max(3px, ${100 / total}%)`, background: "var(--edge)" });
        strip.append(mark);
      });
    }
  }

  shownPres() {
    return this.panes.filter(pane => !pane.hidden && pane.querySelector("pre")).map(pane => pane.querySelector("pre"));
  }

  /** Bring the first linked line of every other pane to the height of `line`. */
  align(line) {
    const from = line.closest("pre"), height = line.getBoundingClientRect().top - from.getBoundingClientRect().top;
    const inPane = from.closest(".pane");
    for (const pre of this.shownPres()) {
      const first = pre === from ? null : pre.querySelector(".lit");
      if (first) pre.scrollTo({ top: first.offsetTop - pre.offsetTop - (inPane ? height : 40), behavior: "smooth" });
    }
  }

  /** Scroll the panes in which no linked line is visible. */
  follow(line) {
    const from = line.closest("pre");
    for (const pre of this.shownPres()) {
      if (pre === from) continue;
      const box = pre.getBoundingClientRect(), lines = [...pre.querySelectorAll(".lit")];
      const seen = lines.some(other => { const b = other.getBoundingClientRect(); return b.bottom > box.top && b.top < box.bottom; });
      if (lines.length && !seen) pre.scrollTo({ top: lines[0].offsetTop - pre.offsetTop - pre.clientHeight / 3, behavior: "smooth" });
    }
  }
}

const VIEWS = new Map([...document.querySelectorAll("article")].map(article => [article.id, new KernelView(article)]));
let current = null;

/** Store the state of the page in its address, so that it can be shared and restored: #paint;python,glsl;8 */
function remember(view) {
  if (view !== current) return;
  const names = view.panes.filter(pane => !pane.hidden).map(pane => pane.dataset.pane).join(",");
  try {
    history.replaceState(null, "", `#${view.article.id};${names}${view.held ? `;${view.held}` : ""}`);
  } catch { /* Safari refuses more than 100 in 30 seconds */ }
}

function visit() {
  const [id, names, row] = location.hash.slice(1).split(";");
  const view = VIEWS.get(id) || VIEWS.values().next().value;
  if (!view) return;
  const before = current ? current.panes.filter(pane => !pane.hidden).map(pane => pane.dataset.pane) : [];
  current = null;
  for (const other of VIEWS.values()) other.article.toggleAttribute("data-shown", other === view);
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.hash === `#${view.article.id}`) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  }
  view.open();
  view.choose(names ? names.split(",") : before);
  current = view;
  const line = row && view.article.querySelector(`.pane[data-pane="python"] .line[data-row="${Number(row)}"]`);
  if (line) view.hold(Number(row), line);
  if (before.length) window.scrollTo(0, 0);
}

try {
  document.documentElement.classList.add("live");
  visit();
  window.addEventListener("hashchange", visit);
} catch (error) {
  document.documentElement.classList.remove("live");  // the plain page is better than one that is half set up
  throw error;
}
