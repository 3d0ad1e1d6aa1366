import { isObject, parseJson } from '../base/json.ts'
import { redact } from '../base/redact.ts'
import { AUTHORITIES, type Authority, IS_OPEN, MEMORY_SCHEMA, MemoryRecord, type RecordKind } from '../domain/memory.ts'
import { MOST_LINE_BYTES, segmentKey } from './segments.ts'

/** A record as it is written. */
export interface Line {
  id: string
  kind: RecordKind
  time: number
  /** The key of its segments. */
  key: string
  text: string
}

/** The most authority that a writer can give. Agents without a sandbox reach what hooks write. A person's answer is the person's, whoever stores it. */
const MOST_AUTHORITY: Record<MemoryRecord['actor'], Authority> = {
  person: 'person',
  daemon: 'gate',
  hook: 'agent',
  agent: 'agent',
}

/** The line of a record, checked and without secrets, or why it is none. */
export function writeLine(given: MemoryRecord, hidden: readonly string[] = []): Line | { problem: string } {
  const parsed = MemoryRecord.safeParse(redact(given, hidden))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { problem: `${issue?.path.join('.') || 'record'}: ${issue?.message ?? 'not valid'}` }
  }
  const record = parsed.data
  const { id, kind, time, actor, authority } = record
  if (isHigher(authority, MOST_AUTHORITY[actor]))
    return { problem: `authority: the ${actor} does not have that of ${authority}` }
  if ((actor === 'agent' || actor === 'hook') && !IS_OPEN[kind])
    return { problem: `kind: the ${actor} cannot write a ${kind}` }
  const text = JSON.stringify(record)
  if (Buffer.byteLength(text) > MOST_LINE_BYTES) return { problem: `it is longer than ${MOST_LINE_BYTES} bytes` }
  return { id, kind, time, key: segmentKey(record), text }
}

function isHigher(one: Authority, other: Authority): boolean {
  return AUTHORITIES.indexOf(one) < AUTHORITIES.indexOf(other)
}

/** What a line of the log says. `from` is the version that it had, where it was written by an older pcc. */
export type ReadLine = { record: MemoryRecord; from?: number } | { newer: number } | { problem: string }

/** Turns a line of one version into one of the next. The log of an older pcc is read through these, and `pcc memory rebuild` writes what they give. */
export type Upgrades = Readonly<Record<number, (line: Record<string, unknown>) => Record<string, unknown>>>

/** There is one version so far. */
export const UPGRADES: Upgrades = {}

export function readLine(text: string, upgrades: Upgrades = UPGRADES): ReadLine {
  const value = parseJson(text)
  if (!isObject(value)) return { problem: value === undefined ? 'it is cut short or damaged' : 'it is no record' }
  const found = value['schema_version']
  if (typeof found === 'number' && found > MEMORY_SCHEMA) return { newer: found }
  let line = value
  for (let version = found; typeof version === 'number' && version < MEMORY_SCHEMA; version += 1) {
    const upgrade = upgrades[version]
    if (!upgrade) return { problem: `nobody knows its version ${found}` }
    line = { ...upgrade(line), schema_version: version + 1 }
  }
  const parsed = MemoryRecord.safeParse(line)
  if (!parsed.success) return { problem: `it is no record: ${parsed.error.issues[0]?.path.join('.') || 'kind'}` }
  return line === value ? { record: parsed.data } : { record: parsed.data, from: Number(found) }
}
