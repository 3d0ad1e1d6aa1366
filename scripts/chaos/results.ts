import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { CRASH_POINTS, WORKSPACE_CRASH_POINTS } from '../../src/base/crash-point.ts'
import type { FaultKind } from './plan/fault-kinds.ts'
import type { RoundResult } from './round.ts'

/** Every step that has a name. */
export const ALL_POINTS = [...CRASH_POINTS, ...WORKSPACE_CRASH_POINTS]

/** What is kept of a round: enough to count, and its seed replays it. */
export interface KeptRound {
  sessions: number
  /** Faults that met something. */
  hit: string[]
  /** Faults that this machine could not do, or that found nothing to hit. */
  missed: string[]
  violations: string[]
  /** The longest time that agents outlived a daemon which was killed, where it was measured. */
  outlived_ms?: number
}

/** `bench/chaos.json`: results add up over runs, by seed; a seed that is run again counts anew. */
export interface KeptResults {
  versions: Record<string, string>
  rounds: Record<string, KeptRound>
  /** Planted bugs: after how many rounds each was caught, and by which promise. */
  planted: Record<string, { rounds: number; by: string }>
  /** Crash points that no round has passed yet. */
  unreached: string[]
}

export function readResults(file: string): KeptResults {
  if (!existsSync(file)) return { versions: {}, rounds: {}, planted: {}, unreached: ALL_POINTS }
  return JSON.parse(readFileSync(file, 'utf8')) as KeptResults
}

/** Where a round happened says nothing to who replays it. */
const OWN_FOLDER = /\/\S*pcc-chaos-[^/\s]*/g

/** The round as it is kept. */
export function kept({ plan, history, violations }: RoundResult): KeptRound {
  const label = (kind: FaultKind, place: number) => {
    const point = plan.faults[place]?.point
    return point ? `${kind} ${point.name}` : kind
  }
  const all = history.faults.map(({ kind, hit }, place) => ({ told: label(kind, place), hit }))
  const storm = plan.sessions.some(({ tasks }) => tasks.some(({ steps }) => steps.some(step => 'trouble' in step)))
  const { ms } = history.outlived
  return {
    ...(ms.length > 0 && { outlived_ms: Math.max(...ms) }),
    sessions: plan.sessions.length,
    hit: [...(storm ? ['vendor-storm'] : []), ...all.filter(({ hit }) => hit).map(({ told }) => told)],
    missed: all.filter(({ hit }) => !hit).map(({ told }) => told),
    violations: violations.map(({ invariant, text }) => `${invariant}: ${inShort(text)}`),
  }
}

/** The scripted vendor names all that it knows when it is asked for something else. */
const LONGEST = 300

function inShort(text: string): string {
  const told = text.replace(OWN_FOLDER, '<folder>')
  return told.length > LONGEST ? `${told.slice(0, LONGEST)} …` : told
}

/** One line a round, so that a run changes only lines of its own; in the order of seeds. */
export function writeResults(file: string, results: KeptResults): void {
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
  "unreached": ${JSON.stringify(results.unreached).replaceAll('","', '", "')},
  "rounds": {
${lines(results.rounds)}
  }
}
`
  writeFileSync(file, text)
}
