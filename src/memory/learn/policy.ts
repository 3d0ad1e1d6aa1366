import type { MemoryRecord, RecordOf } from '../../domain/memory.ts'
import { differenceOfShares, wilson } from './statistics.ts'

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
export function isTrusted({ authority }: MemoryRecord): boolean {
  return authority === 'person' || authority === 'gate'
}

/** One outcome that speaks for or against a threshold or weight. `policyCases` makes them from the log. */
export interface PolicyCase {
  name: KnobName
  /** Cases of one name are compared by their groups. */
  group: 'in' | 'near' | 'old' | 'fresh' | 'high' | 'low'
  good: boolean
  time: number
  /** The project in which it was seen, and the role of the agent that saw it. */
  of: string
  role?: string | null
}

/** The change of one threshold, before it becomes a record. */
export type PolicyChange = Pick<
  RecordOf<'policy'>,
  'scope' | 'of' | 'role' | 'version' | 'name' | 'before' | 'after' | 'reason'
>

/** With fewer cases a threshold would follow chance. */
const FEWEST_CASES = 50
const FEWEST_PROMOTED = 20
const MOST_WRONG = 0.025
const LEAST_USEFUL = 0.1
const OFTEN_USEFUL = 0.4
const MOST_TAKEN_BACK = 0.2
const FEW_TAKEN_BACK = 0.1
/** Old evidence may be so much worse than fresh evidence and still be as good. */
const AS_GOOD = 0.05

/** What a project may have of its own: the rest changes what all projects derive or promote. */
const OF_PROJECTS: readonly KnobName[] = ['advice.bound', 'recall.threshold', 'recall.worth']
/** What a role may have of its own: people answer for all roles alike. */
const OF_ROLES: readonly KnobName[] = ['recall.threshold', 'recall.worth']

/**
 * What outcomes change, for all and for the projects and roles whose own outcomes say something else. Only cases since the last change of the same
 * value count. Pure; at most one step for each name, scope and role.
 */
export function improvePolicy(cases: readonly PolicyCase[], records: readonly RecordOf<'policy'>[]): PolicyChange[] {
  const changes: PolicyChange[] = []
  const version = records.reduce((most, record) => Math.max(most, record.version), 0)
  const tryAll = (names: readonly KnobName[], of: string, role: string | null) => {
    const policy = policyFor(records, { role, projects: of === '' ? [] : [of] })
    const isWider = (each: Pick<PolicyChange, 'of' | 'role'>) =>
      (each.of === '' || each.of === of) && (each.role === null || each.role === role)
    for (const name of names) {
      const same = records.filter(each => each.name === name && isWider(each))
      const since = same.reduce((last, { time }) => Math.max(last, time), Number.NEGATIVE_INFINITY)
      const own = cases.filter(
        each =>
          each.name === name && each.time > since && (of === '' || each.of === of) && (!role || each.role === role),
      )
      const { direction, reason } = JUDGES[name](own) ?? { direction: 0, reason: '' }
      const before = knob(policy, name)
      const after = knob({ [name]: Number((before + direction * KNOBS[name].step).toFixed(6)) }, name)
      // What all say needs no saying by one project or role.
      const isSaid = changes.some(
        each => each.name === name && isWider(each) && Math.sign(each.after - each.before) === direction,
      )
      if (after === before || isSaid) continue
      const scope = of === '' ? 'global' : 'project'
      changes.push({ scope, of, role, version: version + changes.length + 1, name, before, after, reason })
    }
  }
  const projects = [...new Set(cases.map(each => each.of))].filter(of => of !== '')
  tryAll(Object.keys(KNOBS) as KnobName[], '', null)
  for (const of of projects) tryAll(OF_PROJECTS, of, null)
  for (const role of new Set(cases.flatMap(each => each.role ?? [])))
    for (const of of ['', ...projects]) tryAll(OF_ROLES, of, role)
  return changes
}

/** Takes a change back: the value is again what it was before, in the same scope and for the same role, and outcomes count anew from there. Undefined if there is no such version. */
export function revertChange(records: readonly RecordOf<'policy'>[], version: number): PolicyChange | undefined {
  const wrong = records.find(record => record.version === version)
  if (!wrong) return undefined
  const { scope, of, name, role } = wrong
  const before = knob(policyFor(records, { role, projects: [of] }), name as KnobName)
  const last = records.reduce((most, record) => Math.max(most, record.version), 0)
  const reason = `version ${version} taken back`
  return { scope, of, role, name, before, after: wrong.before, version: last + 1, reason }
}

type Judge = (cases: readonly PolicyCase[]) => { direction: 1 | -1; reason: string } | undefined

/** Which way outcomes speak, and why. */
const JUDGES: Record<KnobName, Judge> = {
  'advice.bound': cases => {
    const [above, below] = [countGroup(cases, 'in'), countGroup(cases, 'near')]
    const seen = ([good, count]: Counted) =>
      `${count - good} of ${count} answers of people were not what experience would have said`
    if (above[1] >= FEWEST_CASES && wrongOf(above).estimate > MOST_WRONG)
      return { direction: 1, reason: `${seen(above)} at this bound` }
    if (below[1] >= FEWEST_CASES && wrongOf(below).high < MOST_WRONG)
      return { direction: -1, reason: `${seen(below)} a step below this bound` }
    return undefined
  },
  'advice.half_life_days': cases => {
    const [old, fresh] = [countGroup(cases, 'old'), countGroup(cases, 'fresh')]
    if (Math.min(old[1], fresh[1]) < FEWEST_CASES) return undefined
    const { low, high } = differenceOfShares(old, fresh)
    const reason = `old evidence was right ${old[0]} of ${old[1]} times, fresh evidence ${fresh[0]} of ${fresh[1]}`
    if (high < 0) return { direction: -1, reason }
    return low > -AS_GOOD ? { direction: 1, reason } : undefined
  },
  'recall.threshold': cases => {
    const [useful, shown] = countGroup(cases, 'in')
    if (shown < FEWEST_CASES) return undefined
    const use = wilson(useful, shown)
    const reason = `${useful} of ${shown} items that were shown were of use`
    if (use.high < LEAST_USEFUL) return { direction: 1, reason }
    return use.low > OFTEN_USEFUL ? { direction: -1, reason } : undefined
  },
  'recall.worth': cases => {
    const [high, low] = [countGroup(cases, 'high'), countGroup(cases, 'low')]
    if (Math.min(high[1], low[1]) < FEWEST_CASES) return undefined
    const difference = differenceOfShares(high, low)
    const reason = `of what had done well ${high[0]} of ${high[1]} were of use, of the rest ${low[0]} of ${low[1]}`
    if (difference.low > 0) return { direction: 1, reason }
    return difference.high < 0 ? { direction: -1, reason } : undefined
  },
  'promotion.successes': cases => {
    const promoted = countGroup(cases, 'in')
    if (promoted[1] < FEWEST_PROMOTED) return undefined
    const wrong = wrongOf(promoted)
    const reason = `${promoted[1] - promoted[0]} of ${promoted[1]} lessons that went up were taken back`
    if (wrong.estimate > MOST_TAKEN_BACK) return { direction: 1, reason }
    return wrong.high < FEW_TAKEN_BACK ? { direction: -1, reason } : undefined
  },
}

type Counted = [good: number, count: number]

function countGroup(cases: readonly PolicyCase[], group: PolicyCase['group']): Counted {
  const own = cases.filter(each => each.group === group)
  return [own.filter(({ good }) => good).length, own.length]
}

function wrongOf([good, count]: Counted) {
  return wilson(count - good, count)
}
