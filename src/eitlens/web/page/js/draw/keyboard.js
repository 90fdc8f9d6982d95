// Everything without a pointer.

import { byId } from "../dom.js";
import { fitted } from "./bodies.js";
import { describe, moved, rotated, scaled } from "./shapes.js";

const STEP = 0.04, TURN = Math.PI / 24, GROW = 1.08;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const TOOLS = { v: "select", e: "ellipse", p: "polygon", f: "freehand" };

/** How a key changes a shape, or undefined. */
function change(shape, event) {
  const fine = event.shiftKey ? 0.2 : 1;
  if (event.key in ARROWS) return moved(shape, ARROWS[event.key].map((v) => v * STEP * fine));
  if (event.key === "[") return rotated(shape, TURN);
  if (event.key === "]") return rotated(shape, -TURN);
  const factor = { "+": GROW, "=": GROW, "-": 1 / GROW, _: 1 / GROW }[event.key];
  return factor && scaled(shape, factor, event.altKey ? 1 : factor);
}

export function listen(store, tools, actions) {
  tools.board.root.addEventListener("focusin", (event) => {
    const shape = store.state.shapes.find((one) => one.id === event.target.dataset.id);
    if (shape && shape.id !== store.state.selected) store.set({ selected: shape.id, conductivity: shape.conductivity });
  });
  document.addEventListener("keydown", (event) => {
    const typing = /** @type {Element} */ (event.target).matches("input, textarea, select, dialog, dialog *");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      event.preventDefault();
      return event.shiftKey ? store.redo() : store.undo();
    }
    if (typing || event.ctrlKey || event.metaKey) return undefined;
    if (onBoard(event, store, tools)) return event.preventDefault();
    return anywhere(event, actions);
  });
}

function onBoard(event, store, tools) {
  if (!tools.board.root.contains(event.target)) return false;
  if (event.key === "Enter") return tools.addDefault(), true;
  if (event.key === "Escape") return tools.cancel(), store.set({ selected: null }), true;
  const shape = store.selected;
  if (!shape) return false;
  if (event.key === "Delete" || event.key === "Backspace") {
    store.remove(shape.id);
    tools.board.root.focus();
    return true;
  }
  const changed = change(shape, event);
  if (!changed) return false;
  const shown = fitted(changed, store.outline);
  store.replace(shown);
  byId("said").textContent = describe(shown); // what has focus has a new name, which nobody would hear
  return true;
}

function anywhere(event, actions) {
  const key = event.key.toLowerCase();
  if (key in TOOLS) actions.tool(TOOLS[key]);
  else if (["1", "2", "3"].includes(key)) actions.currents(Number(key));
  else if (key === "n") actions.again();
  else if (key === "r") actions.random();
  else if (key === "?") actions.help();
}
