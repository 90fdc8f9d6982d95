// Raise the noise step by step until the image is lost: Dice below four fifths of what it was without noise.

const LOST = 0.8, FIRST = 0.02, GROWTH = 1.3, LAST = 2;

export async function untilItBreaks(ask, step, signal) {
  const score = (answer) => (answer.images.find((one) => one.scores) ?? answer.classical).scores.dice;
  const clean = score(await ask(0, signal));
  let held = 0;
  for (let tau = FIRST; tau <= LAST && !signal.aborted; tau *= GROWTH) {
    const rounded = Number(tau.toPrecision(2)), dice = score(await ask(rounded, signal));
    step(rounded, dice);
    if (dice < LOST * clean) return { clean, held, broken: rounded, dice };
    held = rounded;
  }
  return { clean, held, broken: null };
}
