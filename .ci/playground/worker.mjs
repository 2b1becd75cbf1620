// Loads Python and the compiler, all from this folder; answers each program with what it became.
import { loadPyodide } from "./pyodide/pyodide.mjs";

let compiled;

async function start() {
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  const archive = await (await fetch("./compiler.zip")).arrayBuffer();
  python.unpackArchive(archive, "zip", { extractDir: "/lib/compiler" });
  await python.runPythonAsync("import sys; sys.path.insert(0, '/lib/compiler'); import compiler");
  compiled = python.globals.get("compiler").compiled;
}

const ready = start().then(() => postMessage({ ready: true }), error => postMessage({ failed: String(error) }));

onmessage = async ({ data }) => {
  await ready;
  const begin = performance.now();
  postMessage({ result: compiled(data), seconds: (performance.now() - begin) / 1000 });
};
