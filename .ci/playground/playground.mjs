// The page: a program at the left, its kernels at the right. A worker compiles, so that typing stays smooth.
import { examples } from "./examples.mjs";

const at = id => document.getElementById(id);
const [program, numbers, page, state, said] = ["program", "numbers", "page", "state", "said"].map(at);
const worker = new Worker("./worker.mjs", { type: "module" });
const WAIT = 700;  // after the last key [ms]
let isBusy = true, isStale = false, timer = 0, wrong = 0;

function count() {
  const lines = program.value.split("\n").length;
  numbers.replaceChildren(...Array.from({ length: lines }, (_, n) => {
    const number = document.createElement("span");
    number.textContent = `${n + 1}\n`;
    if (n + 1 === wrong) number.className = "wrong";
    return number;
  }));
  numbers.scrollTop = program.scrollTop;
}

function compile() {
  if (isBusy) { isStale = true; return; }
  isBusy = true;
  isStale = false;
  state.textContent = "compiling ...";
  worker.postMessage(program.value);
}

worker.onmessage = ({ data }) => {
  isBusy = false;
  if (data.ready) { compile(); return; }
  if (data.failed) { state.textContent = `the compiler could not be loaded: ${data.failed}`; return; }
  const found = JSON.parse(data.result);
  wrong = found.line;
  count();
  if (found.page) page.srcdoc = found.page;
  said.textContent = found.said;
  state.textContent = `compiled in ${(data.seconds).toFixed(2)} s`;
  if (isStale) compile();
};
worker.onerror = event => { state.textContent = `the compiler could not be loaded: ${event.message}`; };

program.addEventListener("input", () => { count(); clearTimeout(timer); timer = setTimeout(compile, WAIT); });
program.addEventListener("scroll", () => { numbers.scrollTop = program.scrollTop; });
program.addEventListener("keydown", event => {
  if (event.key === "Tab" && !event.shiftKey) {
    event.preventDefault();
    document.execCommand("insertText", false, "    ");  // keeps the history of changes
  }
});
at("compile").addEventListener("click", compile);
at("example").append(...Object.keys(examples).map(name => new Option(name, name)));
at("example").addEventListener("change", event => {
  program.value = examples[event.target.value];
  count();
  compile();
});
program.value = Object.values(examples)[0];
count();
