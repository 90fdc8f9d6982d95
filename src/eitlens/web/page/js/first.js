// What the page knows when it is opened, and what is drawn on it then.

import { withId } from "./draw/shapes.js";

const ellipse = (center, semi_axes, angle, conductivity) =>
  withId({ kind: "ellipse", center, semi_axes, angle, conductivity });

export const FIRST = [
  ellipse([0.4, 0.42], [0.34, 0.2], 0.6, 10),
  ellipse([-0.45, -0.4], [0.2, 0.28], 0.3, 10),
  ellipse([-0.42, 0.45], [0.26, 0.18], 2.6, 10),
];

/** Something that conducts better, and something that conducts worse. */
export const FIRST_IN_TANK = [
  ellipse([0.38, 0.2], [0.26, 0.17], 0.6, 10),
  ellipse([-0.4, -0.22], [0.18, 0.2], 0.3, 0.1),
];

export const INITIAL = {
  mode: "square", // or "tank"
  shapes: [],
  selected: null, // the id of a shape
  tool: "ellipse",
  conductivity: 10, // of new shapes
  file: null, // a measurement instead of the drawing
  latest: null, // what is shown: {answer, asked, shapes}
  seed: 1,
  // Of the square:
  currents: 3,
  tau: 0, // relative noise
  models: [], // names of networks
  phi: 0, // the current whose φ is shown
  // Of a tank:
  bodies: {}, // points around each body, by name
  tank: { body: "disk", electrodes: 16, coverage: 0.5, pattern: "adjacent" },
  snr: 60, // decibels
  methods: [],
  stimulation: 0, // the one whose readings are shown
  readingKind: "change", // or "voltages"
  frame: 0, // of a sequence
};
