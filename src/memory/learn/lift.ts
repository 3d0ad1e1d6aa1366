import { DAY_MS } from '../../base/clock.ts'
import type { MemoryItem, RecordOf } from '../../domain/memory.ts'
import { differenceOfMeans, differenceOfShares, type Interval } from './statistics.ts'

/** With fewer tasks on either side the intervals would say nothing. */
const FEWEST_TASKS = 20
/** A younger item has had no chance to be used yet. */
const TRIAL_DAYS = 14

/** What recall is worth: tasks with it against tasks without it. */
export interface MemoryLift {
  /** False while there are too few tasks; the differences are then null. */
  enough: boolean
  tasks: { with: number; without: number }
  /** Each is the mean with recall less the mean without, with its 95 % interval. */
  success: Interval | null
  retries: Interval | null
  corrections: Interval | null
  tool_calls: Interval | null
  cost_usd: Interval | null
  /** From how many sessions memory has learned all, of how many that have ended; null if nobody can tell. */
  coverage: { recorded: number; sessions: number } | null
  /** Lessons and facts that are old enough: those never shown, those contradicted or retired, and the share of both. */
  junk: { items: number; never_used: number; contradicted: number; share: number | null }
  /** Facts about files that have changed since. */
  stale: number
}

export interface LiftSources {
  /** In the order of the log. */
  results: readonly RecordOf<'result'>[]
  items: Iterable<MemoryItem>
  coverage: MemoryLift['coverage']
  now: number
}

export function measureLift({ results, items, coverage, now }: LiftSources): MemoryLift {
  // A task that was tried again counts once, by how it ended.
  const last = new Map(results.map(result => [result.task ?? result.id, result]))
  const arms = Map.groupBy(last.values(), ({ arm }) => arm)
  const [shown, held] = [arms.get('with') ?? [], arms.get('without') ?? []]
  const enough = Math.min(shown.length, held.length) >= FEWEST_TASKS
  const compare = (name: 'retries' | 'corrections' | 'tool_calls' | 'cost_usd') =>
    enough
      ? (differenceOfMeans(
          shown.map(result => result[name]),
          held.map(result => result[name]),
        ) ?? null)
      : null
  const successes = (results: readonly RecordOf<'result'>[]): [number, number] => {
    return [results.filter(({ outcome }) => outcome === 'success').length, results.length]
  }
  return {
    enough,
    tasks: { with: shown.length, without: held.length },
    success: enough ? differenceOfShares(successes(shown), successes(held)) : null,
    retries: compare('retries'),
    corrections: compare('corrections'),
    tool_calls: compare('tool_calls'),
    cost_usd: compare('cost_usd'),
    coverage,
    ...judgeItems(items, now),
  }
}

/** Episodes are what happened and permissions are used by the policy: neither is there to be shown. */
function judgeItems(items: Iterable<MemoryItem>, now: number): Pick<MemoryLift, 'junk' | 'stale'> {
  const junk = { items: 0, never_used: 0, contradicted: 0 }
  let stale = 0
  for (const { kind, type, created_at, ended_by, conflicts, successes, uses } of items) {
    if (ended_by === 'stale') stale += 1
    if (kind === 'episode' || type === 'permission' || now - created_at <= TRIAL_DAYS * DAY_MS) continue
    junk.items += 1
    if (ended_by === 'retired' || conflicts > successes) junk.contradicted += 1
    else if (uses === 0) junk.never_used += 1
  }
  const share = junk.items === 0 ? null : (junk.contradicted + junk.never_used) / junk.items
  return { junk: { ...junk, share }, stale }
}

/** The lines for a terminal. */
export function renderLift(lift: MemoryLift): string[] {
  const { tasks, coverage, junk, stale } = lift
  const counted = `${tasks.with} tasks with recall, ${tasks.without} without`
  const lines = lift.enough
    ? [
        `Lift (${counted}; 95 % intervals)`,
        line('success', lift.success, value => `${signed(value * 100, 0)} points`, 1),
        line('retries', lift.retries, value => signed(value, 2), -1),
        line('corrections', lift.corrections, value => signed(value, 2), -1),
        line('tool calls', lift.tool_calls, value => signed(value, 1), -1),
        line('cost', lift.cost_usd, value => `${signed(value, 2)} $`, -1),
      ]
    : [`Lift: not enough data (${counted}; ${FEWEST_TASKS} of each are needed)`]
  const share = junk.share === null ? 'nothing is old enough to judge' : `${Math.round(junk.share * 100)} %`
  const parts =
    junk.share === null ? '' : ` (${junk.never_used} never shown, ${junk.contradicted} contradicted, of ${junk.items})`
  return [
    ...lines,
    coverage === null
      ? 'Coverage: not known, because no sessions of this home can be read'
      : `Coverage: ${coverage.recorded} of ${coverage.sessions} sessions recorded`,
    `Junk: ${share}${parts}`,
    `Stale: ${stale} about files that have changed`,
  ]
}

/** `good` says which direction is better. */
function line(name: string, interval: Interval | null, show: (value: number) => string, good: 1 | -1): string {
  if (interval === null) return `  ${name.padEnd(12)} no figures`
  const { estimate, low, high } = interval
  const isSure = low > 0 || high < 0
  const word = isSure ? (Math.sign(estimate) === good ? 'better' : 'worse') : 'no clear difference'
  return `  ${name.padEnd(12)} ${show(estimate)} (${show(low)} to ${show(high)}): ${word}`
}

function signed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits)
  return Number(text) === 0 ? text : `${value < 0 ? '−' : '+'}${text}`
}
