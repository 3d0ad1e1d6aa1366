import { createHash } from 'node:crypto'
import { AUTHORITIES, type Authority, type MemoryItem, type MemoryRecord, type RecordOf } from '../../domain/memory.ts'
import { decay, observe, PRIOR, SEED_START, stepSeed, weightOf } from './belief.ts'
import { importanceAtIngest } from './importance.ts'
import { knob, type PolicyValues } from './policy.ts'
import { isPattern, isUsableTrigger } from './triggers.ts'

// What follows from a record for the items that it is about. Pure: the same log gives the same items, on every machine and at any time.

type ItemRecord = Extract<MemoryRecord, { kind: MemoryItem['kind'] }>

/** The items that a record changes. The same for ever: the ids of items follow from records. */
export function itemIdsOf(record: MemoryRecord): string[] {
  switch (record.kind) {
    case 'recall':
      return record.arm === 'with' ? record.items : []
    case 'move':
      return [record.item]
    case 'result':
    case 'policy':
      return []
    default: {
      const { kind, scope, of, acl } = record
      // Records for different readers never become one item: otherwise one of them would see what the other's says.
      const key = [kind, scope, of, acl.roles.toSorted().join(), ...lessonOf(record)]
      return [`i-${createHash('sha256').update(key.join('\0')).digest('hex').slice(0, 16)}`]
    }
  }
}

/** What an item is about: records with the same lesson make one item. */
function lessonOf(record: ItemRecord): string[] {
  switch (record.kind) {
    case 'episode':
      return record.inputs_hash === ''
        ? [record.id]
        : [record.event_type, record.tool ?? '', record.inputs_hash, normalise(record.action)]
    case 'procedure':
      return [record.event_type, record.trigger.kind, normalise(record.trigger.text), normalise(record.action)]
    case 'fact':
      return [normalise(record.subject).toLowerCase()]
    case 'anti_pattern':
      return [record.trigger.kind, normalise(record.trigger.text), normalise(record.text)]
  }
}

/** The item after a record; undefined if there is none. `id` is the one of `itemIdsOf` that is meant. */
export function applyRecord(
  item: MemoryItem | undefined,
  record: MemoryRecord,
  policy: PolicyValues,
  id: string,
): MemoryItem | undefined {
  if (item?.records.includes(record.id)) return item
  switch (record.kind) {
    case 'recall':
      return item && { ...item, uses: item.uses + 1, last_used_at: Math.max(item.last_used_at ?? 0, record.time) }
    case 'move':
      return item && move(item, record)
    case 'result':
    case 'policy':
      return item
    case 'fact':
      return applyFact(item, record, policy, id)
    case 'procedure':
      if (weightOf(record.authority, record.event_type) === 0) return item
      return isUsableTrigger(record.trigger, record.authority) ? count(item, record, policy, id) : item
    case 'anti_pattern':
      // Text from outside never becomes something to do or to avoid, and only people write patterns.
      if (record.authority === 'external' || !isUsableTrigger(record.trigger, record.authority)) return item
      return count(item, record, policy, id)
    default:
      return count(item, record, policy, id)
  }
}

/** 0 for the highest authority. */
function rank(authority: Authority): number {
  return AUTHORITIES.indexOf(authority)
}

/** The higher of two authorities counts, and when it spoke last. */
function sayAgain(item: MemoryItem, { authority, time }: ItemRecord): Pick<MemoryItem, 'authority' | 'said_at'> {
  if (authority === item.authority) return { authority, said_at: Math.max(item.said_at, time) }
  return rank(authority) < rank(item.authority)
    ? { authority, said_at: time }
    : { authority: item.authority, said_at: item.said_at }
}

/** Adds one record to what it is evidence for or against. */
function count(item: MemoryItem | undefined, record: ItemRecord, policy: PolicyValues, id: string): MemoryItem {
  const before = item ?? newItem(record, id)
  const observed = observationOf(record)
  const halfLife = knob(policy, 'advice.half_life_days')
  const weight = weightOf(record.authority, before.type)
  const observation = { good: observed === true, weight, time: record.time }
  const belief = decay(observed === undefined ? before : observe(before, observation, halfLife), record.time, halfLife)
  // Whoever has less authority may confirm what is said, and does not change a word of it.
  const mayReword = record.time >= before.updated_at && rank(record.authority) <= rank(before.authority)
  const counts = observed !== undefined && record.authority !== 'external'
  return {
    ...before,
    ...(mayReword
      ? { text: textOf(record), agent_id: record.agent_id, session: record.session, task: record.task }
      : {}),
    alpha: belief.alpha,
    beta: belief.beta,
    updated_at: belief.updated_at,
    successes: before.successes + (counts && observed ? 1 : 0),
    failures: before.failures + (counts && !observed ? 1 : 0),
    seed_confidence: counts ? stepSeed(before.seed_confidence, observed) : before.seed_confidence,
    // Whoever speaks against something does not lend it their authority.
    ...(item && observed !== false ? sayAgain(item, record) : {}),
    importance: importanceAtIngest(item, record),
    tier: 'hot',
    records: [record.id, ...before.records].slice(0, MOST_RECORDS),
    evidence: [...new Set([...record.evidence, ...before.evidence])].slice(0, MOST_RECORDS),
  }
}

const MOST_RECORDS = 20

/** Whether a record speaks for its item; undefined if it says nothing about that. An anti-pattern is confirmed by failing again. */
function observationOf(record: ItemRecord): boolean | undefined {
  if (record.kind === 'anti_pattern') return record.outcome !== 'success'
  if (record.kind === 'fact') return record.outcome !== 'failure'
  return record.outcome === 'unknown' ? undefined : record.outcome === 'success'
}

function newItem(record: ItemRecord, id: string): MemoryItem {
  return {
    id,
    kind: record.kind,
    scope: record.scope,
    of: record.of,
    acl: record.acl,
    agent_id: record.agent_id,
    session: record.session,
    task: record.task,
    home: null,
    type: record.kind === 'fact' ? record.category : record.kind === 'anti_pattern' ? 'failure' : record.event_type,
    subject: record.kind === 'fact' ? record.subject : null,
    trigger: 'trigger' in record ? record.trigger : null,
    text: textOf(record),
    action: 'action' in record ? record.action : record.kind === 'anti_pattern' ? record.instead : null,
    ...PRIOR,
    successes: 0,
    failures: 0,
    seed_confidence: SEED_START,
    conflicts: 0,
    valid_from: record.kind === 'fact' ? (record.valid_from ?? record.time) : record.time,
    past: [],
    authority: record.authority,
    said_at: record.time,
    importance: record.importance,
    tier: 'hot',
    about: record.kind === 'fact' ? record.about : [],
    created_at: record.time,
    updated_at: record.time,
    ended_at: null,
    ended_by: null,
    uses: 0,
    last_used_at: null,
    records: [],
    evidence: [],
  }
}

const MOST_PAST = 10

/**
 * A fact is the current answer to its subject. Another text contradicts it: the higher authority stays, of two equal ones the newer, and the
 * other is closed with the time for which it held. The order in which the records arrive does not matter.
 */
function applyFact(
  item: MemoryItem | undefined,
  record: RecordOf<'fact'>,
  policy: PolicyValues,
  id: string,
): MemoryItem {
  if (!item) return endIfDenied(count(undefined, record, policy, id), record)
  if (normalise(item.text) === normalise(record.text)) {
    return endIfDenied({ ...count(item, record, policy, id), ...confirm(item, record) }, record)
  }
  // Whatever is said from outside neither counts nor is contradicted, and nobody casts doubt on what a higher authority said.
  const isOutside = record.authority === 'external' || item.authority === 'external'
  const conflicts = item.conflicts + (isOutside || rank(record.authority) > rank(item.authority) ? 0 : 1)
  if (!replaces(record, item)) {
    const claim = { ...newItem(record, id), updated_at: record.time }
    const past = close(claim, Math.max(claim.valid_from, Math.min(item.valid_from, record.time)), record.time)
    const records = [record.id, ...item.records].slice(0, MOST_RECORDS)
    return { ...item, conflicts, records, past: addPast(item.past, past) }
  }
  const from = record.valid_from ?? record.time
  const past = item.ended_at === null ? addPast(item.past, close(item, from, record.time)) : item.past
  const { uses, last_used_at, evidence, records } = item
  const fresh = count(undefined, record, policy, id)
  const merged = { ...fresh, records: [...fresh.records, ...records].slice(0, MOST_RECORDS), uses, last_used_at }
  return { ...merged, conflicts, past, evidence: [...new Set([...fresh.evidence, ...evidence])].slice(0, MOST_RECORDS) }
}

const OPEN = { ended_at: null, ended_by: null, tier: 'hot' } as const

/**
 * What changes when the same is said again. Whoever has less authority than the fact changes nothing of it while it holds; once it has ended, or its files
 * have changed, it is what they say, with no more authority than theirs.
 */
function confirm(item: MemoryItem, record: RecordOf<'fact'>): Partial<MemoryItem> {
  const { time, outcome, authority, category: type } = record
  if (time < item.updated_at || outcome === 'failure' || authority === 'external') return {}
  const isLower = rank(authority) > rank(item.authority)
  if (isLower && item.ended_at === null) return {}
  const about = record.about.length > 0 || authority === 'person' ? record.about : item.about
  return { type, about, ...OPEN, ...(isLower ? { authority, said_at: time } : {}) }
}

/** Somebody says that it is not true, without saying what is. */
function endIfDenied(item: MemoryItem, { outcome, authority, time }: RecordOf<'fact'>): MemoryItem {
  const isDenied = outcome === 'failure' && rank(authority) <= rank(item.authority)
  return isDenied ? { ...item, ended_at: time, ended_by: 'retired' } : item
}

function replaces(record: RecordOf<'fact'>, item: MemoryItem): boolean {
  if (record.outcome === 'failure' || record.authority === 'external') return false
  if (item.ended_at !== null) return record.time >= item.ended_at
  if (record.authority !== item.authority) return rank(record.authority) < rank(item.authority)
  return record.time === item.said_at ? record.text > item.text : record.time > item.said_at
}

function close({ text, type, authority, valid_from, created_at }: MemoryItem, until: number, closedAt: number) {
  const category = type as MemoryItem['past'][number]['category']
  const valid_until = Math.max(valid_from, until)
  return { text, category, authority, valid_from, valid_until, recorded_at: created_at, closed_at: closedAt }
}

function addPast(past: MemoryItem['past'], claim: MemoryItem['past'][number]): MemoryItem['past'] {
  return [claim, ...past]
    .toSorted((a, b) => b.recorded_at - a.recorded_at || (a.text < b.text ? -1 : 1))
    .slice(0, MOST_PAST)
}

const WIDTH = { session: 0, agent: 0, project: 1, global: 2 }

/** Up only by the word of a gate or a person and never for text from outside; down or out only by nobody lower than its own authority. */
function move(item: MemoryItem, record: RecordOf<'move'>): MemoryItem {
  if (record.to === 'stale' || record.to === 'valid') return mark(item, record)
  const isUp = record.to !== 'retired' && WIDTH[record.to] > WIDTH[item.scope]
  const mayMove = isUp
    ? item.authority !== 'external' && rank(record.authority) <= rank('gate')
    : rank(record.authority) <= rank(item.authority)
  if (!mayMove) return item
  if (record.to === 'retired')
    return {
      ...item,
      ended_at: record.time,
      ended_by: 'retired',
      records: [record.id, ...item.records].slice(0, MOST_RECORDS),
    }
  const home = record.to === 'global' && item.scope === 'project' ? item.of : null
  const of = record.to === 'global' ? '' : record.of
  return { ...item, scope: record.to, of, home, records: [record.id, ...item.records].slice(0, MOST_RECORDS) }
}

/** Whether the files that a fact speaks of are what they were. What was said since then is about the files as they are. */
function mark(item: MemoryItem, { id, to, time, authority }: RecordOf<'move'>): MemoryItem {
  const isStale = item.ended_by === 'stale'
  if (item.about.length === 0 || rank(authority) > rank('gate') || time < item.said_at) return item
  if (to === 'stale' ? item.ended_at !== null : !isStale) return item
  const records = [id, ...item.records].slice(0, MOST_RECORDS)
  return { ...item, records, ...(to === 'stale' ? { ended_at: time, ended_by: to } : OPEN) }
}

function normalise(text: string): string {
  return text.normalize('NFKC').replace(/\s+/g, ' ').trim()
}

/** What is shown and searched. */
function textOf(record: ItemRecord): string {
  switch (record.kind) {
    case 'episode': {
      const parts = [record.context, record.decision, record.action, record.fix && `What helped: ${record.fix}`]
      return [...new Set(parts)].filter(Boolean).join('\n')
    }
    case 'procedure':
      if (isPattern(record.trigger)) return record.action
      return record.trigger.kind === 'failure'
        ? `Instead of \`${record.trigger.text}\`: \`${record.action}\``
        : `${record.trigger.text}: ${record.action}`
    case 'fact':
      return record.text
    case 'anti_pattern':
      return record.instead === null ? record.text : `${record.text} Instead: ${record.instead}`
  }
}
