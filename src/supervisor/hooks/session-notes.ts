import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import type { AppPaths } from '../../base/app-paths.ts'
import { DAY_MS } from '../../base/clock.ts'
import { readTextIfAny, replaceFile, whileLocked } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { HookEvent } from '../../domain/hooks.ts'

/** What the features know about one conversation of an agent that pcc did not start. It is kept under the home, where a project's code is not. */
const SessionNotes = z.object({
  schema_version: z.literal(1),
  /** The commit at which the conversation began. */
  began: z.string().optional(),
  /** The stops that were refused: the gates that failed, and the trees before and after they ran. */
  blocks: z.array(z.object({ gates: z.array(z.string()), trees: z.array(z.string()) })).default([]),
  /** How many of them were before all gates passed, and count no more. */
  settled: z.number().default(0),
  /** The last tree that passed the gates, and the gates. */
  passed: z.string().optional(),
  /** The task that a prompt of the person named last. */
  task: z.string().optional(),
  /** The agent's own list of steps, by its ids. */
  steps: z.record(z.string(), z.object({ text: z.string(), open: z.boolean() })).default({}),
  /** What was said already, by a key and when. */
  said: z.record(z.string(), z.number()).default({}),
  /** How often the vendor dropped the context of the conversation: the agent has forgotten what it was shown before. */
  contexts: z.number().default(0),
  /** Calls since the last delegation by who makes them, and what the project's own file about it holds. */
  delegation: z.record(z.string(), z.object({ count: z.number(), digest: z.string() })).default({}),
})
export type SessionNotes = z.infer<typeof SessionNotes>

export type SessionKey = Pick<HookEvent, 'vendor' | 'session'>
type HomePaths = Pick<AppPaths, 'data'>

/** The notes about a conversation. Those that cannot be read are empty: a feature then speaks once more than it had to. */
export async function readSessionNotes(paths: HomePaths, key: SessionKey): Promise<SessionNotes> {
  const text = await readTextIfAny(fileOf(paths, key)).catch(() => undefined)
  return parseNotes(text)
}

/**
 * Changes the notes about a conversation and returns what `change` returns. Two hooks at once wait for one another, so that of two
 * which see the same state only one acts on it.
 */
export async function changeSessionNotes<Result>(
  paths: HomePaths,
  key: SessionKey,
  change: (notes: SessionNotes) => Result | Promise<Result>,
): Promise<Result> {
  const file = fileOf(paths, key)
  await mkdir(folderOf(paths), { recursive: true, mode: 0o700 })
  return whileLocked(join(folderOf(paths), 'lock'), async () => {
    const before = await readTextIfAny(file).catch(() => undefined)
    if (before === undefined) await pruneNotes(folderOf(paths))
    const notes = parseNotes(before)
    const result = await change(notes)
    const after = JSON.stringify(notes)
    if (after !== before) replaceFile(file, after)
    return result
  })
}

interface Saying {
  what: string
  now?: number
  againAfterMs?: number
}

/** True for the first caller that says something in a conversation, or the first since `againAfterMs`. */
export async function saysFirst(paths: HomePaths, key: SessionKey, saying: Saying): Promise<boolean> {
  return changeSessionNotes(paths, key, notes => isNews(notes, saying))
}

/** The same for a caller that changes the notes itself. */
export function isNews(notes: SessionNotes, { what, now = Date.now(), againAfterMs = Infinity }: Saying): boolean {
  const hash = shortHash(what)
  const last = notes.said[hash]
  // A clock that was set back must not silence anything for longer.
  if (last !== undefined && Math.abs(now - last) < againAfterMs) return false
  notes.said[hash] = now
  const keys = Object.keys(notes.said)
  if (keys.length > MOST_SAID) delete notes.said[keys[0] ?? '']
  return true
}

/** More than one conversation needs; the oldest goes first. */
const MOST_SAID = 500

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}

function parseNotes(text: string | undefined): SessionNotes {
  // Of a damaged file nothing is known about the conversation.
  return SessionNotes.safeParse(parseJson(text ?? '')).data ?? SessionNotes.parse({ schema_version: 1 })
}

/** In `data`; the folder of the same name in `run` (kept-texts.ts) says only to which project a conversation belongs. */
const NOTES_IN_DATA = 'hook-sessions'

function folderOf({ data }: HomePaths): string {
  return join(data, NOTES_IN_DATA)
}

/** The vendor chooses the id, so it is not used as the name of a file. */
function fileOf(paths: HomePaths, { vendor, session }: SessionKey): string {
  return join(folderOf(paths), `${shortHash(`${vendor}\0${session}`)}.json`)
}

/** Nobody resumes a conversation after so long, and if somebody does, it begins anew. */
const KEPT_MS = 30 * DAY_MS
/** As many are looked at when a conversation begins. */
const MOST_PRUNED = 200

async function pruneNotes(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.json')).slice(0, MOST_PRUNED)
  for (const name of names) {
    const file = join(folder, name)
    const age = Date.now() - ((await stat(file).catch(() => undefined))?.mtimeMs ?? Date.now())
    if (age > KEPT_MS) await rm(file, { force: true })
  }
}
