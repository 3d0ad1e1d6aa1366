import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { RoundResult } from './round.ts'

/** The version of the rules; only rounds judged by the same rules are counted together. 2: lost work, notices at the channel, every death measured. */
export const RULES = 2

/** The stored result of a round: enough to count, and its seed replays it. */
export interface KeptRound {
  sessions: number
  /** Faults that hit something. */
  hit: string[]
  /** Faults that this machine cannot inject, or that found nothing to hit. */
  missed: string[]
  violations: string[]
  /** The version of the rules; absent for the oldest rounds. */
  rules?: number
  /** The steps at which its daemons died. */
  died?: string[]
  /** How many deaths were followed by a measurement of how long agents lived on, and the longest such time. */
  deaths?: number
  outlived_ms?: number
  /** How many decisions were answered only after the notice. */
  due?: number
  /** Earlier results of the same round with violations; a later success does not erase them. */
  earlier?: KeptRound[]
}

/** `bench/chaos.json`: results add up over runs, by seed, or by seed and step (`40000 merge.after-ref`). */
export interface KeptResults {
  versions: Record<string, string>
  rounds: Record<string, KeptRound>
  /** Planted mistakes: after how many rounds each was caught, and by which invariant. */
  planted: Record<string, { rounds: number; by: string }>
}

export function readResults(file: string): KeptResults {
  if (!existsSync(file)) return { versions: {}, rounds: {}, planted: {} }
  const { versions, rounds, planted } = JSON.parse(readFileSync(file, 'utf8')) as KeptResults
  return { versions, rounds, planted }
}

/** The folder of a round, which means nothing when it is replayed. */
const OWN_FOLDER = /\/\S*pcc-chaos-[^/\s]*/g

/** Reduces a round to its stored form. */
export function kept({ plan, history, violations }: RoundResult): KeptRound {
  const all = history.faults.map(({ kind, step, hit }) => ({ name: step ? `${kind} ${step}` : kind, hit }))
  const storm = plan.sessions.some(({ tasks }) => tasks.some(({ steps }) => steps.some(step => 'trouble' in step)))
  const { outlived, died, waits } = history
  const due = new Set(waits.filter(({ isLate }) => isLate).map(({ number }) => number)).size
  return {
    sessions: plan.sessions.length,
    hit: [...(storm ? ['vendor-storm'] : []), ...all.filter(({ hit }) => hit).map(({ name }) => name)],
    missed: all.filter(({ hit }) => !hit).map(({ name }) => name),
    violations: violations.map(({ invariant, text }) => `${invariant}: ${shorten(text)}`),
    rules: RULES,
    ...(died.length > 0 && { died }),
    ...(outlived.length > 0 && { deaths: outlived.length, outlived_ms: Math.max(...outlived.map(({ ms }) => ms)) }),
    ...(due > 0 && { due }),
  }
}

/** Limits texts, because the scripted vendor lists everything it knows when it is asked for something else. */
const LONGEST = 300

function shorten(text: string): string {
  const clean = text.replace(OWN_FOLDER, '<folder>')
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST)} …` : clean
}

/** Adds the earlier results with violations to a round, so that they stay visible. */
export function withEarlier(round: KeptRound, before: KeptRound | undefined): KeptRound {
  if (!before) return round
  const { earlier = [], ...last } = before
  const red = last.violations.length > 0 ? [...earlier, last] : earlier
  return red.length > 0 ? { ...round, earlier: red } : round
}

/** Changes the results in a file. Concurrent runs take turns. */
export function changeResults(file: string, change: (before: KeptResults) => KeptResults): void {
  using _turn = takeTurn(`${file}.lock`)
  writeResults(file, change(readResults(file)))
}

/** The lock is held for milliseconds; an older one was left by a dead run. */
const STALE_MS = 10_000

function takeTurn(lock: string): Disposable {
  for (;;) {
    try {
      writeFileSync(lock, '', { flag: 'wx' })
      return { [Symbol.dispose]: () => rmSync(lock, { force: true }) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
      if (age > STALE_MS) rmSync(lock, { force: true })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}

/** Writes one line per round, in the order of seeds, so that a run changes only its own lines. */
function writeResults(file: string, results: KeptResults): void {
  const line = (value: unknown) =>
    JSON.stringify(value).replace(/":/g, '": ').replace(/,"/g, ', "').replace(/^\{"/, '{ "').replace(/\}$/, ' }')
  const lines = (all: Record<string, unknown>) =>
    Object.entries(all)
      .map(([key, value]) => `    ${JSON.stringify(key)}: ${line(value)}`)
      .join(',\n')
  const text = `{
  "versions": ${line(results.versions)},
  "planted": {
${lines(results.planted)}
  },
  "rounds": {
${lines(results.rounds)}
  }
}
`
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}
