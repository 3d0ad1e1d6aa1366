import { dateTime } from '../../../base/clock.ts'
import { unreachable } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import type { MemoryItem, MemoryRecord, RecordOf } from '../../../domain/memory.ts'
import type { MemoryAudit } from '../../../memory/examine.ts'
import { counted } from '../../render/format.ts'
import { cut, pad, type Terminal } from '../../render/text.ts'

/** A line for each item: its id, what it is, and how often it held. */
export function itemLines(found: readonly { item: MemoryItem }[], terminal: Terminal): string[] {
  return found.map(({ item }) => {
    const { id, kind, successes, failures, ended_at, text } = item
    const count = successes + failures === 0 ? '' : `${successes}/${successes + failures}`
    const head = `${id}  ${pad(kind.replace('_', '-'), 12)}  ${pad(count, 6)}  `
    const line = `${ended_at === null ? '' : '(no longer) '}${neutral(text).replace(/\s+/g, ' ')}`
    return `${head}${cut(line, Math.max(20, terminal.width - head.length))}`
  })
}

/** What the two counts of an item say. */
const COUNTS: Record<MemoryItem['kind'], readonly [good: string, bad: string]> = {
  episode: ['worked', 'failed'],
  procedure: ['worked', 'failed'],
  fact: ['said', 'denied'],
  anti_pattern: ['seen to fail', 'worked after all'],
}

/** Everything about one item. */
export function itemPage(item: MemoryItem, records: readonly MemoryRecord[], terminal: Terminal): string[] {
  const { id, kind, type, scope, of, authority, tier, trigger, action, ended_at, ended_by } = item
  const [good, bad] = COUNTS[kind]
  return [
    terminal.paint('bold', neutral(item.text)),
    '',
    `${id}: ${kind.replace('_', '-')} (${neutral(type)}), ${scope}${of === '' ? '' : ` ${neutral(of)}`}, ${tier}`,
    `by ${authority}; ${good} ${counted(item.successes, 'time')}, ${bad} ${counted(item.failures, 'time')}, shown ${counted(item.uses, 'time')}`,
    ...(trigger ? [`when: ${trigger.kind} ${neutral(trigger.text)}`] : []),
    ...(action === null ? [] : [`then: ${neutral(action)}`]),
    ...(ended_at === null ? [] : [`no longer true since ${dateTime(ended_at)} (${neutral(ended_by ?? '')})`]),
    ...item.past.map(claim => {
      const { text, valid_from, valid_until } = claim
      return `before, by ${claim.authority}, from ${dateTime(valid_from)} to ${dateTime(valid_until)}: ${neutral(text)}`
    }),
    ...item.about.map(({ path, blob }) => `about ${neutral(path)} at ${blob.slice(0, 12)}`),
    '',
    'It rests on:',
    ...records.flatMap(recordLine),
  ]
}

/** A record with what it says. */
export function recordPage(record: MemoryRecord): string[] {
  const [first = '', ...rest] = recordLine(record)
  return [
    first,
    ...textsOf(record)
      .flatMap(text => neutral(text).split('\n'))
      .map(line => `      ${line}`),
    ...rest,
  ]
}

function textsOf(record: MemoryRecord): string[] {
  switch (record.kind) {
    case 'episode':
      return [record.context, record.decision, record.action, record.fix ?? '', record.rationale].filter(Boolean)
    case 'procedure':
      return [`when: ${record.trigger.kind} ${record.trigger.text}`, `then: ${record.action}`]
    case 'fact':
      return [record.text]
    case 'anti_pattern':
      return [record.text, ...(record.instead === null ? [] : [`instead: ${record.instead}`])]
    case 'recall':
      return [`${record.arm === 'with' ? 'shown' : 'held back'}: ${record.items.join(' ') || 'nothing'}`]
    case 'move':
      return [`${record.item} → ${record.to}: ${record.reason}`]
    case 'policy':
      return [`${record.name} ${record.before} → ${record.after}: ${record.reason}`]
    case 'result':
      return []
    default:
      return unreachable(record)
  }
}

function recordLine(record: MemoryRecord): string[] {
  const { id, time, kind, actor, authority, outcome, evidence, task } = record
  const who = [`${actor} (${authority})`, ...(task === null ? [] : [task])].join(', ')
  return [
    `  ${id}  ${dateTime(time)}  ${kind}, ${outcome}, ${neutral(who)}`,
    ...(evidence.length === 0 ? [] : [`      ${evidence.map(neutral).join(' ')}`]),
  ]
}

/** What `pcc memory doctor` and `pcc memory rebuild` found and did. */
export function auditLines(
  audit: MemoryAudit,
  { converted, rebuilt }: { converted: number; rebuilt: boolean },
): string[] {
  const { folder, writable, segments, records, items, damaged, doubled, older, forgotten, outbox } = audit
  const olderLines = Object.values(older).reduce((sum, count) => sum + count, 0)
  return [
    `${folder}: ${counted(records, 'record')} in ${counted(segments, 'segment')}, ${counted(items, 'item')}`,
    ...(rebuilt
      ? [`Derived anew${converted > 0 ? `; ${counted(converted, 'line')} of older versions written anew` : ''}.`]
      : []),
    ...(writable ? [] : ['The disk is read-only: memory is read, and nothing new is learned.']),
    ...(olderLines > 0
      ? [`${counted(olderLines, 'line')} of older versions: pcc memory rebuild writes them anew.`]
      : []),
    ...(forgotten > 0 ? [`${counted(forgotten, 'record')} forgotten for good.`] : []),
    ...(outbox ? ['Hooks have left something that is not stored yet.'] : []),
    ...(doubled > 0 ? [`${counted(doubled, 'line')} say the same again, and do not count.`] : []),
    ...damaged.map(({ segment, at, problem }) => `Damaged: ${segment}, byte ${at}: ${problem}. The rest is used.`),
    ...(damaged.length === 0 && writable ? ['Nothing is wrong with it.'] : []),
  ]
}

/** The thresholds in force and how they came to be. */
export function policyLines(
  rows: readonly { name: string; role: string | null; value: number; standard: number }[],
  changes: readonly RecordOf<'policy'>[],
  terminal: Terminal,
): string[] {
  return [
    ...rows.map(({ name, role, value, standard }) => {
      const usual = value === standard ? '' : ` (usually ${standard})`
      return `${pad(name, 26)} ${value}${usual}${role === null ? '' : ` for the role ${neutral(role)}`}`
    }),
    '',
    ...(changes.length === 0 ? [terminal.paint('dim', 'Nothing was ever changed.')] : []),
    ...changes.map(({ time, version, name, before, after, reason, scope, role, authority }) => {
      const where = `${scope === 'project' ? ' in this project' : ''}${role === null ? '' : ` for the role ${neutral(role)}`}`
      const by = authority === 'person' ? ' by a person' : ''
      return `${dateTime(time)}  ${version}  ${neutral(name)} ${before} → ${after}${where}: ${neutral(reason)}${by}`
    }),
  ]
}
