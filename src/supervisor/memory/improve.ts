import { type MemoryItem, type MemoryReader, type MemoryRecord, newRecord, recordId } from '../../domain/memory.ts'
import type { MemoryBroker } from '../../memory/broker.ts'
import { improvePolicy, type PolicyOutcomes, policyFor } from '../../memory/learn/policy.ts'
import { proposeMoves } from '../../memory/learn/promote.ts'

/** How much is looked at in one slice: what changed last. */
const MOST_ITEMS = 200
const MOST_RECALLS = 300
const CATCH_UP_MS = 200
/** Kinds of items that can go up or down. */
const MOVING = ['procedure', 'anti_pattern', 'fact'] as const

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
  if (!broker.catchUp({ withinMs: CATCH_UP_MS })) return []
  const reader: MemoryReader = { agent: 'person', role: null, session: null, projects: [], now }
  const items = broker.find({ reader, kinds: [...MOVING], limit: MOST_ITEMS }).map(({ item }) => item)
  const changes = broker.records('policy', reader)
  const policy = policyFor(changes, { role: null, projects: [] })
  const moves = proposeMoves(items, { now, policy, projectOf }).map(move =>
    newRecord({ ...BY_US, kind: 'move', time: now, id: recordId(JSON.stringify(['move', move])), ...move }),
  )
  const since = changes.at(-1)?.time ?? 0
  const version = changes.at(-1)?.version ?? 0
  const policies = improvePolicy(countOutcomes(broker, reader, since), policy, version).map(change =>
    newRecord({
      ...{ ...BY_US, kind: 'policy', time: now, scope: 'global', of: '', ...change },
      id: recordId(JSON.stringify(['policy', change.version, change.name])),
    }),
  )
  const records = [...moves, ...policies]
  if (records.length > 0) broker.write(records)
  return records
}

const BY_US = { actor: 'daemon', authority: 'gate', outcome: 'success' } as const

/** How many lessons about commands were shown since a time, and how many of them worked in the task that they were shown to. */
function countOutcomes(broker: MemoryBroker, reader: MemoryReader, since: number): PolicyOutcomes {
  const recalls = broker.records('recall', reader).filter(({ arm, time }) => arm === 'with' && time > since)
  let [shown, useful] = [0, 0]
  for (const { items, task } of recalls.slice(-MOST_RECALLS)) {
    for (const item of items.flatMap(id => broker.item(id, reader) ?? [])) {
      if (item.kind !== 'procedure') continue
      shown += 1
      if (hasWorkedIn(task, item, broker, reader)) useful += 1
    }
  }
  return { advised: 0, corrected: 0, shown, useful }
}

function hasWorkedIn(
  task: string | null,
  { records }: MemoryItem,
  broker: MemoryBroker,
  reader: MemoryReader,
): boolean {
  const all = records.map(id => broker.record(id, reader))
  return all.some(record => record !== undefined && record.task === task && record.outcome === 'success')
}
