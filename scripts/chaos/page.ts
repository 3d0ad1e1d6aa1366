import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../places.ts'
import { FAULT_KINDS } from './plan/fault-kinds.ts'
import { ALL_POINTS } from './plan/points.ts'
import { withPlants } from './plants/table.ts'
import { type KeptResults, type KeptRound, RULES, readResults } from './results.ts'

export const RESULTS_FILE = join(ROOT, 'bench', 'chaos.json')
export const PAGE_FILE = join(ROOT, 'docs', 'reliability.md')

const BEGIN = '<!-- made from bench/chaos.json by `npm run docs` -->'
const END = '<!-- end of what is made -->'

/** Inserts the numbers of the results into the page. */
export function pageWith(page: string, results: KeptResults): string {
  const [before, rest = ''] = page.split(BEGIN)
  const after = rest.split(END)[1] ?? ''
  return withPlants(`${before}${BEGIN}\n${summarise(results)}\n${END}${after}`, results)
}

/** Summarises the rounds in text and tables. Only rounds that were judged by the current rules are counted. */
function summarise(results: KeptResults): string {
  const all = Object.entries(results.rounds)
  const today = all.filter(([, { rules }]) => rules === RULES)
  const rounds = today.map(([, round]) => round)
  const red = today.filter(([, { violations }]) => violations.length > 0).map(([key]) => key)
  const mended = today.filter(([, { earlier }]) => earlier?.some(({ rules }) => rules === RULES)).map(([key]) => key)
  return [
    `**${rounds.length} rounds, ${sum(rounds, round => round.sessions)} sessions, ${sum(rounds, ({ hit }) => hit.length)} faults: ${red.length} rounds with violations.**`,
    ...(red.length > 0 ? [`Violated: ${red.join(', ')}.`] : []),
    ...(mended.length > 0
      ? [`Violated when they were first run, and not when they were run again: ${mended.join(', ')}; both are kept.`]
      : []),
    diedLine(rounds),
    outlivedLine(rounds),
    `${sum(rounds, ({ due = 0 }) => due)} decisions were answered only after the person had been told of them.`,
    '',
    '| fault | hit | rounds with violations |',
    '|---|---|---|',
    ...FAULT_KINDS.map(kind => faultRow(kind, rounds)),
    '',
    `${all.length - today.length} earlier rounds stand in the file, too. They were judged by weaker rules and are not counted here.`,
  ].join('\n')
}

/** The steps at which daemons actually died. */
export function diedAt(rounds: KeptRound[]): ReadonlySet<string> {
  return new Set(rounds.flatMap(({ died = [] }) => died))
}

function diedLine(rounds: KeptRound[]): string {
  const died = diedAt(rounds)
  const never = ALL_POINTS.filter(name => !died.has(name))
  const rest = never.length === 0 ? '' : `; never at ${never.map(name => `\`${name}\``).join(', ')}`
  return `Daemons died at ${ALL_POINTS.length - never.length} of ${ALL_POINTS.length} named steps${rest}.`
}

function outlivedLine(rounds: KeptRound[]): string {
  const worst = Math.max(0, ...rounds.map(({ outlived_ms = 0 }) => outlived_ms))
  return `After ${sum(rounds, ({ deaths = 0 }) => deaths)} deaths of daemons agents lived on for ${(worst / 1000).toFixed(1)} s at most.`
}

function faultRow(kind: string, rounds: KeptRound[]): string {
  const isOf = (text: string) => text.split(' ', 1)[0] === kind
  const bad = rounds.filter(({ hit, violations }) => violations.length > 0 && hit.some(isOf)).length
  return `| \`${kind}\` | ${sum(rounds, ({ hit }) => hit.filter(isOf).length)} | ${bad} |`
}

function sum(rounds: KeptRound[], count: (round: KeptRound) => number): number {
  return rounds.reduce((total, round) => total + count(round), 0)
}

/** Updates the page. */
export function writePage(): void {
  writeFileSync(PAGE_FILE, pageWith(readFileSync(PAGE_FILE, 'utf8'), readResults(RESULTS_FILE)))
}

if (import.meta.main) writePage()
