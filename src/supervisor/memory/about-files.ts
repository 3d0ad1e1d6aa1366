import { createHash } from 'node:crypto'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { readRegularFileNow } from '../../base/files.ts'
import { openFolderBelow } from '../../base/real-folder.ts'
import { type MemoryItem, type MemoryRecord, newRecord, type RecordOf, recordId } from '../../domain/memory.ts'
import type { MemoryBroker } from '../../memory/broker.ts'
import { isStale } from '../../memory/recall.ts'

type AboutFile = RecordOf<'fact'>['about'][number]

/** Most files that one fact is bound to, and most words of a text that are looked for on the disk. */
const MOST_FILES = 20
const MOST_WORDS = 60
/** A larger file is not read: what it says is seldom one fact. */
const MOST_BYTES = 2_000_000

/**
 * The files of a project that a text speaks of, each with the content that it has now. `files` are named besides; those that are not there, or
 * lead out of the project, are `missing`. A word of the text that names no file is a word.
 */
export function filesAbout(
  project: string,
  text: string,
  files: readonly string[] = [],
): { about: AboutFile[]; missing: string[] } {
  const about = new Map<string, AboutFile>()
  const add = (name: string) => {
    const path = relativeTo(project, name)
    const blob = path === undefined ? undefined : blobOf(project, path)
    if (path === undefined || blob === undefined) return false
    if (about.size < MOST_FILES) about.set(path, { path, blob })
    return true
  }
  const missing = files.filter(name => !add(name))
  for (const word of namesIn(text)) add(word)
  return { about: [...about.values()], missing }
}

/** Words that look like the name of a file: with a folder or an ending, or such as Makefile. */
function namesIn(text: string): string[] {
  const words = text.match(/(?<![\w@./-])@?[\w.-]+(?:\/[\w@.+-]+)*/g) ?? []
  const names = words.map(word => word.replace(/[.:]+$/, '')).filter(word => /[./]\w|^[A-Z][a-z]+file$/.test(word))
  return [...new Set(names)].slice(0, MOST_WORDS)
}

/** The path inside the project; undefined if it leads out. */
function relativeTo(project: string, name: string): string | undefined {
  const path = relative(project, isAbsolute(name) ? name : join(project, name))
  return path === '' || path.startsWith('..') || isAbsolute(path) ? undefined : path
}

/** The name that git gives to the content of a file of the project; undefined if there is none, it is a link, or a folder on the way leads out of the project. */
export function blobOf(project: string, path: string): string | undefined {
  const inside = relativeTo(project, path)
  if (inside === undefined) return undefined
  try {
    using folder = openFolderBelow(project, dirname(inside))
    const content = folder && readRegularFileNow(folder.at(basename(inside)), MOST_BYTES, { follow: false })
    return content && createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
  } catch {
    return undefined // there is no such folder
  }
}

export interface FactCheck {
  project: string
  /** The keys of the project. */
  keys: readonly string[]
  now: number
  /** Where to begin among the facts. */
  from?: number
  withinMs: number
}

/**
 * Compares the facts of a project with the files that they speak of. A fact whose file has changed is marked and not shown until somebody says it
 * again; one whose files are what they were is valid again. Looks at one fact at least, and returns where the next look begins: 0 after the last.
 */
export function checkFacts(
  broker: MemoryBroker,
  { project, keys, now, from = 0, withinMs }: FactCheck,
): { next: number; records: MemoryRecord[] } {
  const facts = broker.isWritable ? broker.factsWithFiles(keys) : []
  const until = performance.now() + withinMs
  const blobs = new Map<string, string | undefined>()
  const read = (path: string) => {
    if (!blobs.has(path)) blobs.set(path, blobOf(project, path))
    return blobs.get(path)
  }
  const records: MemoryRecord[] = []
  let next = from
  for (const item of facts.slice(from)) {
    next += 1
    const to = isStale(item, read) ? 'stale' : 'valid'
    if ((item.ended_by === 'stale') !== (to === 'stale')) records.push(markOf(item, to, { now, read }))
    if (performance.now() >= until) break
  }
  if (records.length > 0) broker.write(records)
  return { next: next >= facts.length ? 0 : next, records }
}

function markOf(
  { id, scope, of, records, about }: MemoryItem,
  to: 'stale' | 'valid',
  { now, read }: { now: number; read(path: string): string | undefined },
): MemoryRecord {
  const changed = about.filter(({ path, blob }) => read(path) !== blob).map(({ path }) => path)
  const reason = to === 'stale' ? `changed or gone: ${changed.join(', ')}` : 'its files are what they were'
  return newRecord({
    ...{ kind: 'move', time: now, scope, of, actor: 'daemon', authority: 'gate', outcome: 'success' },
    // Two processes that see the same write the same.
    id: recordId(JSON.stringify(['files', id, to, records[0]]), 'own-'),
    ...{ item: id, to, reason, evidence: about.map(({ path, blob }) => `file:${path}@${blob}`.slice(0, 500)) },
  })
}
