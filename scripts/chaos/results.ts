import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { RoundResult } from './round.ts'

/** Rounds are counted with those that were judged by the same rules. 2: lost work, notices at the channel, every death measured. */
export const RULES = 2

/** What is kept of a round: enough to count, and its seed replays it. */
export interface KeptRound {
  sessions: number
  /** Faults that met something. */
  hit: string[]
  /** Faults that this machine could not do, or that found nothing to hit. */
  missed: string[]
  violations: string[]
  /** By which rules it was judged; those before there were numbers have none. */
  rules?: number
  /** Steps at which its daemons died. */
  died?: string[]
  /** Deaths after which it was measured how long agents lived on, and the longest time. */
  deaths?: number
  outlived_ms?: number
  /** Decisions that nobody answered before they had been told of them. */
  due?: number
  /** The same round as it was before, where it was violated then: to run it again does not make that undone. */
  earlier?: KeptRound[]
}

/** `bench/chaos.json`: results add up over runs, by seed, or by seed and step (`40000 merge.after-ref`). */
export interface KeptResults {
  versions: Record<string, string>
  rounds: Record<string, KeptRound>
  /** Planted bugs: after how many rounds each was caught, and by which promise. */
  planted: Record<string, { rounds: number; by: string }>
}

export function readResults(file: string): KeptResults {
  if (!existsSync(file)) return { versions: {}, rounds: {}, planted: {} }
  const { versions, rounds, planted } = JSON.parse(readFileSync(file, 'utf8')) as KeptResults
  return { versions, rounds, planted }
}

/** Where a round happened says nothing to who replays it. */
const OWN_FOLDER = /\/\S*pcc-chaos-[^/\s]*/g

/** The round as it is kept. */
export function kept({ plan, history, violations }: RoundResult): KeptRound {
  const all = history.faults.map(({ kind, step, hit }) => ({ told: step ? `${kind} ${step}` : kind, hit }))
  const storm = plan.sessions.some(({ tasks }) => tasks.some(({ steps }) => steps.some(step => 'trouble' in step)))
  const { outlived, died, waits } = history
  const due = new Set(waits.filter(({ isLate }) => isLate).map(({ number }) => number)).size
  return {
    sessions: plan.sessions.length,
    hit: [...(storm ? ['vendor-storm'] : []), ...all.filter(({ hit }) => hit).map(({ told }) => told)],
    missed: all.filter(({ hit }) => !hit).map(({ told }) => told),
    violations: violations.map(({ invariant, text }) => `${invariant}: ${inShort(text)}`),
    rules: RULES,
    ...(died.length > 0 && { died }),
    ...(outlived.length > 0 && { deaths: outlived.length, outlived_ms: Math.max(...outlived.map(({ ms }) => ms)) }),
    ...(due > 0 && { due }),
  }
}

/** The scripted vendor names all that it knows when it is asked for something else. */
const LONGEST = 300

function inShort(text: string): string {
  const told = text.replace(OWN_FOLDER, '<folder>')
  return told.length > LONGEST ? `${told.slice(0, LONGEST)} …` : told
}

/** A round beside what was known of it: one that was violated stays in sight. */
export function withEarlier(round: KeptRound, before: KeptRound | undefined): KeptRound {
  if (!before) return round
  const { earlier = [], ...last } = before
  const red = last.violations.length > 0 ? [...earlier, last] : earlier
  return red.length > 0 ? { ...round, earlier: red } : round
}

/** Changes the results of a file. Runs beside one another take turns. */
export function changeResults(file: string, change: (before: KeptResults) => KeptResults): void {
  using _turn = turnOf(`${file}.lock`)
  writeResults(file, change(readResults(file)))
}

/** It is held for milliseconds: one that is older was left by a run that is gone. */
const STALE_MS = 10_000

function turnOf(lock: string): Disposable {
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

/** One line a round, so that a run changes only lines of its own; in the order of seeds. */
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
