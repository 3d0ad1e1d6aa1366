import { type RunShort, runHere } from './run-here.ts'

/** Which process starts short programs. It belongs to the process as a whole, as its memory does, which is why it is kept here. */
const starter: { runs: RunShort } = { runs: runHere }

/** Runs a short program: as a child of this process, or of the small one that was lent to it. */
export const runShort: RunShort = (run, signal) => starter.runs(run, signal)

/** From now on short programs are started by somebody else, until this is taken back. */
export function lendStarter(runs: RunShort): Disposable {
  starter.runs = runs
  return {
    [Symbol.dispose]() {
      starter.runs = runHere
    },
  }
}
