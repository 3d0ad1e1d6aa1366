import { existsSync, readFileSync } from 'node:fs'
import type { Ledger, Result } from './results.ts'
import { resultOf } from './results.ts'
import { diffOf, type Mutant } from './sample.ts'

export interface Counts {
  tried: number
  killed: number
  byUnit: number
  byProgram: number
  byTimeout: number
  left: number
}

export interface Survivor {
  id: string
  diff: string
  /** Why no test catches it, or which one will; written by a person and kept from report to report. */
  reason: string
}

export interface Report {
  seed: string
  parts: Record<string, Counts>
  timeouts: string[]
  survivors: Survivor[]
}

/** The results of the sampled mutants; those that were not tried yet are left out. */
export function reportOn(
  mutants: Mutant[],
  results: Ledger<Result>,
  { seed, file }: { seed: string; file: string },
): Report {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined
  const reasons = new Map(before?.survivors.map(({ id, reason }) => [id, reason]))
  const report: Report = { seed, parts: {}, timeouts: [], survivors: [] }
  for (const mutant of mutants) {
    const result = resultOf(results, mutant)
    if (!result) continue
    report.parts[mutant.part] ??= { tried: 0, killed: 0, byUnit: 0, byProgram: 0, byTimeout: 0, left: 0 }
    const counts = report.parts[mutant.part] as Counts
    counts.tried += 1
    if (result.outcome === 'survived') {
      counts.left += 1
      report.survivors.push({ id: mutant.id, diff: diffOf(mutant), reason: reasons.get(mutant.id) ?? '' })
      continue
    }
    counts.killed += 1
    if (result.outcome === 'timeout') counts.byTimeout += 1
    else if (result.by?.program) counts.byProgram += 1
    else counts.byUnit += 1
    if (result.outcome === 'timeout') report.timeouts.push(mutant.id)
  }
  report.survivors.sort((a, b) => (a.id < b.id ? -1 : 1))
  return report
}

/** The results as Markdown. */
export function asMarkdown({ seed, parts, timeouts, survivors }: Report, red: string[]): string {
  const all = Object.entries(parts)
  const sum = (key: keyof Counts) => all.reduce((total, [, counts]) => total + counts[key], 0)
  const row = (name: string, of: (key: keyof Counts) => number) =>
    `| ${[name, ...(['tried', 'killed', 'byUnit', 'byProgram', 'byTimeout', 'left'] as const).map(of)].join(' | ')} |`
  const share = sum('tried') === 0 ? 0 : (100 * sum('killed')) / sum('tried')
  return [
    `Seed ${seed}: ${sum('killed')} of ${sum('tried')} mutants killed (${share.toFixed(1)} %).`,
    '',
    '| part | tried | killed | by unit tests | by the program | by timeout | left |',
    '|---|---|---|---|---|---|---|',
    ...all.map(([name, counts]) => row(name, key => counts[key])),
    row('all', sum),
    ...(timeouts.length > 0 ? ['', 'Ended by a timeout:', ...timeouts.map(id => `- ${id}`)] : []),
    ...(red.length > 0 ? ['', 'Red without a mistake, so left out:', ...red.map(path => `- ${path}`)] : []),
    ...(survivors.length > 0 ? ['', 'Survivors:'] : []),
    ...survivors.flatMap(({ id, diff, reason }) => ['', `- ${id}${reason && `: ${reason}`}`, '```diff', diff, '```']),
    '',
  ].join('\n')
}
