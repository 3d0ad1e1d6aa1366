import { DAY_MS } from '../../base/clock.ts'
import {
  type MemoryItem,
  type MemoryReader,
  type MemoryRecord,
  newRecord,
  type RecordOf,
  recordId,
  TEACHING_KINDS,
} from '../../domain/memory.ts'
import type { MemoryBroker } from '../../memory/broker.ts'
import { LEAST_EVIDENCE } from '../../memory/learn/advise.ts'
import { type Belief, decay, lowerBound, observe, PRIOR, weightOf } from '../../memory/learn/belief.ts'
import { improvePolicy, KNOBS, knob, type PolicyCase, type PolicyValues, policyFor } from '../../memory/learn/policy.ts'
import { proposeMoves } from '../../memory/learn/promote.ts'

/** How much is looked at in one slice: what changed last. */
const MOST_ITEMS = 200
const MOST_RECALLS = 300
const MOST_ANSWERED = 200
const MOST_MOVES = 500
const MOST_OF_ITEM = 400
const CATCH_UP_MS = 200

export interface ImproveOptions {
  now: number
  /** The key of the project of a session; undefined if nobody knows it. */
  projectOf(session: string): string | undefined
}

/**
 * Writes what outcomes change: items that go up, down or out of use, and thresholds. Two processes that do it at once write the same records,
 * which are stored once.
 */
export function improve(broker: MemoryBroker, { now, projectOf }: ImproveOptions): MemoryRecord[] {
  // What is not derived yet, such as all of it after a rebuild, is looked at the next time: verdicts wait in the same process.
  if (!broker.isWritable || !broker.catchUp({ withinMs: CATCH_UP_MS })) return []
  const reader: MemoryReader = { agent: 'person', role: null, session: null, projects: [], now }
  const items = broker.find({ reader, kinds: TEACHING_KINDS, limit: MOST_ITEMS }).map(({ item }) => item)
  const changes = broker.records('policy', reader)
  const policy = policyFor(changes, { role: null, projects: [] })
  const moves = proposeMoves(items, { now, policy, projectOf }).map(move =>
    newRecord({ ...BY_US, kind: 'move', time: now, id: recordId(JSON.stringify(['move', move]), 'own-'), ...move }),
  )
  const policies = isLookDue(broker, now) ? improveThresholds(broker, { reader, policy, changes }) : []
  const records = [...moves, ...policies]
  if (records.length > 0) broker.write(records)
  return records
}

/** Outcomes come slowly, and reading them takes some tenths of a second in which verdicts wait. */
const LOOK_EVERY_MS = DAY_MS
const LOOKED_AT = 'policy_looked_at'

function isLookDue(broker: MemoryBroker, now: number): boolean {
  const last = Number(broker.inspect(({ file }) => file.readMeta(LOOKED_AT)) ?? 0)
  // A time in the future was written by a wrong clock.
  if (last <= now && now - last < LOOK_EVERY_MS) return false
  broker.exclusive(({ file }) => file.transaction(() => file.writeMeta(LOOKED_AT, String(now))))
  return true
}

function improveThresholds(
  broker: MemoryBroker,
  { reader, policy, changes }: { reader: MemoryReader; policy: PolicyValues; changes: readonly RecordOf<'policy'>[] },
): MemoryRecord[] {
  return improvePolicy(policyCases(gatherCases(broker, reader), policy), changes).map(change =>
    newRecord({
      ...{ ...BY_US, kind: 'policy', time: reader.now, ...change },
      id: recordId(JSON.stringify(['policy', change.version, change.name, change.of, change.role]), 'own-'),
    }),
  )
}

const BY_US = { actor: 'daemon', authority: 'gate', outcome: 'success' } as const

/** Reads what the log says about thresholds: the last of it, because all of it would keep verdicts waiting. */
function gatherCases(broker: MemoryBroker, reader: MemoryReader): CaseSources {
  const recalls = broker.records('recall', reader, { most: MOST_RECALLS }).filter(({ arm }) => arm === 'with')
  const idsOf = (id: string) => broker.inspect(({ file }) => file.recordsOf(id)).slice(0, MOST_OF_ITEM)
  const read = ({ id }: MemoryItem) => idsOf(id).flatMap(record => broker.record(record, reader) ?? [])
  const shown = new Map(
    [...new Set(recalls.flatMap(({ items }) => items))].flatMap(id => {
      const item = broker.item(id, reader)
      // Whether an agent did what a person's pattern said cannot be seen.
      return item?.kind === 'procedure' && item.type === 'command' ? [[id, { item, records: read(item) }] as const] : []
    }),
  )
  const permissions = broker.find({ reader, kinds: ['procedure'], type: 'permission', limit: MOST_ANSWERED })
  const answers = permissions.map(({ item }) =>
    read(item).filter(record => record.kind === 'procedure' && record.authority === 'person'),
  ) as RecordOf<'procedure'>[][]
  return { answers, recalls, shown, moves: broker.records('move', reader, { most: MOST_MOVES }), now: reader.now }
}

/** A lesson that went up has had no chance to fail before. */
const TRIAL_DAYS = 14

/** What the log says about thresholds and weights. */
interface CaseSources {
  /** The answers of people to requests of one kind, for each kind. */
  answers: readonly (readonly RecordOf<'procedure'>[])[]
  /** What was shown, and every record of each item that was. */
  recalls: readonly RecordOf<'recall'>[]
  shown: ReadonlyMap<string, { item: MemoryItem; records: readonly MemoryRecord[] }>
  moves: readonly RecordOf<'move'>[]
  now: number
}

/** The outcomes of which `improvePolicy` says what they change. Pure. */
function policyCases(sources: CaseSources, policy: PolicyValues): PolicyCase[] {
  return [
    ...sources.answers.flatMap(answers => casesOfAnswers(answers, policy)),
    ...casesOfRecall(sources, policy),
    ...casesOfMoves(sources),
  ]
}

/**
 * People are asked until experience is sure, so that their answers say what experience would have said before each: at the bound, a step below it, and
 * with evidence that was old by then.
 */
function casesOfAnswers(answers: readonly RecordOf<'procedure'>[], policy: PolicyValues): PolicyCase[] {
  const [bound, halfLife] = [knob(policy, 'advice.bound'), knob(policy, 'advice.half_life_days')]
  const near = bound - KNOBS['advice.bound'].step
  const cases: PolicyCase[] = []
  let belief: Belief = { ...PRIOR, updated_at: 0 }
  for (const { outcome, authority, time, of } of answers.toSorted((a, b) => a.time - b.time)) {
    const good = outcome === 'success'
    const before = decay(belief, time, halfLife)
    if (before.alpha - PRIOR.alpha >= LEAST_EVIDENCE) {
      const low = lowerBound(before)
      if (low >= near) cases.push({ name: 'advice.bound', group: low >= bound ? 'in' : 'near', good, time, of })
    }
    if (belief.updated_at > 0) {
      const isOld = time - belief.updated_at >= (halfLife / 2) * DAY_MS
      const wasRight = belief.alpha > belief.beta === good
      cases.push({ name: 'advice.half_life_days', group: isOld ? 'old' : 'fresh', good: wasRight, time, of })
    }
    const observation = { good, weight: weightOf(authority, 'permission'), time }
    belief = observe(belief, observation, halfLife)
  }
  return cases
}

/** A lesson about a command that was shown to a task, or to a conversation, is of use if it worked in it. */
function casesOfRecall({ recalls, shown }: CaseSources, policy: PolicyValues): PolicyCase[] {
  const seen = recalls.flatMap(({ items, task, session, time, of, role }) =>
    items.flatMap(id => {
      const { item, records = [] } = shown.get(id) ?? {}
      if (item?.kind !== 'procedure' || (task ?? session) === null) return []
      const isThere = (record: MemoryRecord) => (task === null ? record.session === session : record.task === task)
      const good = records.some(
        record => isThere(record) && record.outcome === 'success' && (task !== null || record.time >= time),
      )
      return [{ good, time, of, role, mean: meanBefore(records, time, knob(policy, 'advice.half_life_days')) }]
    }),
  )
  const middle = seen.map(({ mean }) => mean).toSorted((a, b) => a - b)[Math.floor(seen.length / 2)] ?? 0
  return seen.flatMap(({ mean, ...each }): PolicyCase[] => [
    { name: 'recall.threshold', group: 'in', ...each },
    { name: 'recall.worth', group: mean > middle ? 'high' : 'low', ...each },
  ])
}

/** How an item had done when it was shown. What it did then is the outcome, and not a reason to show it. */
function meanBefore(records: readonly MemoryRecord[], time: number, halfLife: number): number {
  const earlier = records.filter(record => record.time < time && record.outcome !== 'unknown')
  const belief = earlier
    .toSorted((a, b) => a.time - b.time)
    .reduce<Belief>(
      (before, record) => {
        const weight = weightOf(record.authority, 'command')
        return observe(before, { good: record.outcome === 'success', weight, time: record.time }, halfLife)
      },
      { ...PRIOR, updated_at: 0 },
    )
  return belief.alpha / (belief.alpha + belief.beta)
}

const WIDTH: Partial<Record<RecordOf<'move'>['to'], number>> = { session: 0, agent: 0, project: 1, global: 2 }

/** A lesson that went up and later down, or out of use, went up too early. */
function casesOfMoves({ moves, now }: CaseSources): PolicyCase[] {
  const cases: PolicyCase[] = []
  for (const all of Map.groupBy(moves, ({ item }) => item).values()) {
    const steps = all.filter(({ to }) => to === 'retired' || WIDTH[to] !== undefined)
    const [up] = steps
    if (!up || up.to === 'retired' || WIDTH[up.to] === 0 || now - up.time < TRIAL_DAYS * DAY_MS) continue
    const width = WIDTH[up.to] ?? 0
    const isTakenBack = steps.some(({ to, time }) => time > up.time && (to === 'retired' || (WIDTH[to] ?? 0) < width))
    cases.push({ name: 'promotion.successes', group: 'in', good: !isTakenBack, time: up.time, of: '' })
  }
  return cases
}
