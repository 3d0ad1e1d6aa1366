import type { MemoryRecord, RecordOf } from '../../domain/memory.ts'
import { wilson } from './statistics.ts'

/** Thresholds and weights by name, as policy records have set them; what is missing has its standard. */
export type PolicyValues = Readonly<Record<string, number>>

interface Knob {
  standard: number
  /** Whatever a record says, a value stays between these. */
  least: number
  most: number
  /** The most that one record changes. */
  step: number
}

/** What outcomes may change. The figures behind the standards are in docs/adr/0022-beta-with-a-lower-bound.md. */
export const KNOBS = {
  /** The least lower bound of the confidence for a decision without a person. */
  'advice.bound': { standard: 0.9, least: 0.8, most: 0.99, step: 0.03 },
  /** After how many days evidence counts half. */
  'advice.half_life_days': { standard: 90, least: 14, most: 365, step: 15 },
  /** The least score of what is recalled: the share of the question that an item answers. */
  'recall.threshold': { standard: 0.2, least: 0.1, most: 0.6, step: 0.05 },
  /** How much a proven and important item counts more than another with the same words. */
  'recall.worth': { standard: 0.3, least: 0, most: 1, step: 0.1 },
  /** How often a lesson must have worked before others see it. */
  'promotion.successes': { standard: 3, least: 2, most: 10, step: 1 },
} as const satisfies Record<string, Knob>
export type KnobName = keyof typeof KNOBS

/** The value of a threshold or weight in force. */
export function knob(policy: PolicyValues, name: KnobName): number {
  const { standard, least, most } = KNOBS[name]
  const value = policy[name] ?? standard
  return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : standard
}

/**
 * The values for a role in a project, from all policy records in the order of the log. A record of the project counts more than one for all
 * projects, and one for the role more than one for all roles. Read at the start of a session, so that nothing changes in the middle of one.
 */
export function policyFor(
  records: readonly MemoryRecord[],
  { role, projects }: { role: string | null; projects: readonly string[] },
): PolicyValues {
  const chosen = new Map<string, { rank: number; value: number }>()
  for (const record of records) {
    if (record.kind !== 'policy' || !isTrusted(record) || !(record.name in KNOBS)) continue
    if (record.role !== null && record.role !== role) continue
    if (record.scope !== 'global' && !(record.scope === 'project' && projects.includes(record.of))) continue
    const rank = (record.scope === 'project' ? 1 : 0) + (record.role === null ? 0 : 2)
    if (rank >= (chosen.get(record.name)?.rank ?? 0)) chosen.set(record.name, { rank, value: record.after })
  }
  return Object.fromEntries([...chosen].map(([name, { value }]) => [name, value]))
}

/** Neither an agent nor a text from outside sets a threshold. */
function isTrusted({ authority }: MemoryRecord): boolean {
  return authority === 'person' || authority === 'gate'
}

/** What happened since the last change of the policy. */
export interface PolicyOutcomes {
  /** Decisions by learned advice, and how many of them a person corrected. */
  advised: number
  corrected: number
  /** Items that were shown, and how many of them were of use. */
  shown: number
  useful: number
}

/** The change of one threshold, before it becomes a record. */
export type PolicyChange = Pick<RecordOf<'policy'>, 'version' | 'name' | 'before' | 'after' | 'reason'>

/** With fewer cases a threshold would follow chance. */
const FEWEST_CASES = 50
const MOST_WRONG = 0.025
const LEAST_USEFUL = 0.1
const OFTEN_USEFUL = 0.4

/**
 * What the outcomes of a role in a scope change. A threshold rises if the interval of the rate of mistakes is above what is tolerated as a
 * whole or by its estimate, and falls only if the whole interval is below it. Pure; at most one step for each name.
 */
export function improvePolicy(
  { advised, corrected, shown, useful }: PolicyOutcomes,
  policy: PolicyValues,
  version: number,
): PolicyChange[] {
  const changes: PolicyChange[] = []
  const change = (name: KnobName, direction: 1 | -1, reason: string) => {
    const before = knob(policy, name)
    const after = knob({ [name]: Number((before + direction * KNOBS[name].step).toFixed(6)) }, name)
    if (after !== before) changes.push({ version: version + changes.length + 1, name, before, after, reason })
  }
  if (advised >= FEWEST_CASES) {
    const wrong = wilson(corrected, advised)
    const seen = `${corrected} of ${advised} decisions by experience were corrected`
    if (wrong.estimate > MOST_WRONG) change('advice.bound', 1, seen)
    else if (wrong.high < MOST_WRONG) change('advice.bound', -1, seen)
  }
  if (shown >= FEWEST_CASES) {
    const use = wilson(useful, shown)
    const seen = `${useful} of ${shown} items that were shown were of use`
    if (use.high < LEAST_USEFUL) change('recall.threshold', 1, seen)
    else if (use.low > OFTEN_USEFUL) change('recall.threshold', -1, seen)
  }
  return changes
}
