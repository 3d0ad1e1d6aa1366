import { createHash } from 'node:crypto'
import type { MemoryItem, MemoryRecord } from '../../domain/memory.ts'

/** Thresholds and weights by name, as policy records have set them; what is missing has its default. */
export type PolicyValues = Readonly<Record<string, number>>

/** The items that a record changes. Pure, and the same for ever: the ids of items follow from records. */
export function itemIdsOf(record: MemoryRecord): string[] {
  const { kind, scope, of } = record
  const subject = subjectOf(record)
  if (subject === undefined) return []
  const digest = createHash('sha256').update([kind, scope, of, subject].join('\0')).digest('hex')
  return [`i-${digest.slice(0, 16)}`]
}

/** The item after a record; undefined if the record makes none. `id` is the one of `itemIdsOf` that is meant. */
export function applyRecord(
  item: MemoryItem | undefined,
  record: MemoryRecord,
  _policy: PolicyValues,
  id: string,
): MemoryItem | undefined {
  const text = textOf(record)
  if (text === undefined) return item
  const isGood = record.outcome !== 'failure'
  return {
    id,
    kind: record.kind as MemoryItem['kind'],
    scope: record.scope,
    of: record.of,
    acl: record.acl,
    agent_id: record.agent_id,
    type: record.kind === 'fact' ? record.category : 'event_type' in record ? record.event_type : 'failure',
    subject: record.kind === 'fact' ? record.subject : null,
    trigger: 'trigger' in record ? record.trigger : null,
    text,
    action: 'action' in record ? record.action : null,
    alpha: (item?.alpha ?? 1) + (isGood ? 1 : 0),
    beta: (item?.beta ?? 1) + (isGood ? 0 : 1),
    successes: (item?.successes ?? 0) + (isGood ? 1 : 0),
    failures: (item?.failures ?? 0) + (isGood ? 0 : 1),
    authority: record.authority,
    importance: record.importance,
    tier: 'hot',
    about: record.kind === 'fact' ? record.about : [],
    created_at: item?.created_at ?? record.time,
    updated_at: record.time,
    ended_at: null,
    ended_by: null,
    uses: item?.uses ?? 0,
    last_used_at: item?.last_used_at ?? null,
    records: [record.id, ...(item?.records ?? [])].slice(0, 20),
    evidence: [...new Set([...record.evidence, ...(item?.evidence ?? [])])].slice(0, 20),
  }
}

function subjectOf(record: MemoryRecord): string | undefined {
  switch (record.kind) {
    case 'episode':
      return record.id
    case 'procedure':
      return `${record.event_type}\0${record.trigger.text}\0${record.action}`
    case 'fact':
      return `${record.category}\0${record.subject}\0${record.text}`
    case 'anti_pattern':
      return `${record.trigger.text}\0${record.text}`
    default:
      return undefined
  }
}

function textOf(record: MemoryRecord): string | undefined {
  switch (record.kind) {
    case 'episode':
      return [record.context, record.action, record.fix ?? ''].filter(Boolean).join('\n')
    case 'procedure':
      return `${record.trigger.text}: ${record.action}`
    case 'fact':
    case 'anti_pattern':
      return record.text
    default:
      return undefined
  }
}
