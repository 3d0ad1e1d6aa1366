import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { crashPoint } from '../base/crash-point.ts'
import { replaceEntry } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { memoryOutbox } from './outbox.ts'
import { Segments } from './segments.ts'

/** The ids of what was forgotten, for good: whoever writes the same record again, from an outbox, a copy or the events, stores nothing. */
const FORGOTTEN = 'forgotten.jsonl'
/** The ids that are being forgotten. While it exists, whoever opens the memory first ends that. */
const UNDER_WAY = 'forgetting.json'

/** Notes what is to be forgotten. From now on it is forgotten for good, whoever is killed. */
export function noteForgetting(folder: string, ids: readonly string[]): void {
  replaceEntry(join(folder, UNDER_WAY), JSON.stringify(ids))
  crashPoint('memory.after-forget-note')
}

/** Ends what somebody began to forget. Returns false if there was nothing; otherwise everything derived has to be made again. */
export function finishForgetting(folder: string, segments: Segments): boolean {
  const note = join(folder, UNDER_WAY)
  if (!existsSync(note)) return false
  const listed = parseJson(readFileSync(note, 'utf8'))
  const ids = new Set(Array.isArray(listed) ? listed.map(String) : [])
  appendFileSync(join(folder, FORGOTTEN), [...ids].map(id => `${JSON.stringify({ id })}\n`).join(''), { mode: 0o600 })
  for (const each of [segments, ...copiesOf(folder)])
    for (const { name } of each.list()) each.rewrite(name, line => !speaksOf(line, ids))
  memoryOutbox(folder).removeRead()
  crashPoint('memory.before-forgotten')
  rmSync(note)
  return true
}

/** The ids of all that was ever forgotten. */
export function readForgotten(folder: string): string[] {
  const file = join(folder, FORGOTTEN)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap(line => String((parseJson(line) as { id?: unknown } | undefined)?.id ?? '') || [])
}

/** The folders in which a migration kept the segments as they were. */
function copiesOf(folder: string): Segments[] {
  const names = readdirSync(folder).filter(name => /^log-before-\d+$/.test(name))
  return names.map(name => new Segments(join(folder, name)))
}

/** A record begins with its id, and so does the part of a line that a killed writer left. */
function speaksOf(line: string, ids: ReadonlySet<string>): boolean {
  const id = /^\{"id":"(m-[0-9a-z-]+)"/.exec(line)?.[1] ?? (parseJson(line) as { id?: string } | undefined)?.id
  return id !== undefined && ids.has(id)
}
