import { open } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { CHECKPOINT_VERSION, Checkpoint } from '../../domain/checkpoint.ts'
import { isCheckpointId, listCheckpointIds } from './save.ts'

export interface SavedCheckpoint {
  id: string
  checkpoint: Checkpoint
}

/** A checkpoint that exists but cannot be used, with the problem for a person. */
export interface BadCheckpoint {
  id: string
  problem: string
}

/** `good` is the requested checkpoint, or the newest usable one; `bad` are the ones that were skipped. */
export interface FoundCheckpoint {
  good: SavedCheckpoint | undefined
  bad: BadCheckpoint[]
}

/** No checkpoint that we write comes near this size; a larger file is not ours. */
const MAX_BYTES = 16 * 1024 * 1024

/** Every checkpoint of a session, newest first. */
export async function list(dir: string, sessionId: string): Promise<(SavedCheckpoint | BadCheckpoint)[]> {
  const all: (SavedCheckpoint | BadCheckpoint)[] = []
  for (const id of await idsOf(dir, sessionId)) {
    const checkpoint = await readOne(dir, sessionId, id)
    if (checkpoint) all.push(checkpoint)
  }
  return all
}

/** A checkpoint of a session by its id (or by a unique beginning of it), or the newest usable one. */
export async function read(dir: string, sessionId: string, id?: string): Promise<FoundCheckpoint> {
  const bad: BadCheckpoint[] = []
  for (const candidate of matching(await idsOf(dir, sessionId), id)) {
    const found = await readOne(dir, sessionId, candidate)
    if (found && 'checkpoint' in found) return { good: found, bad }
    if (found) bad.push(found)
  }
  return { good: undefined, bad }
}

function matching(ids: string[], wanted: string | undefined): string[] {
  if (wanted === undefined || ids.includes(wanted)) return wanted === undefined ? ids : [wanted]
  const near = ids.filter(id => wanted !== '' && id.startsWith(wanted))
  return near.length === 1 ? near : []
}

/** A session's id is part of a path here, so an id that could lead elsewhere matches nothing. */
async function idsOf(dir: string, sessionId: string): Promise<string[]> {
  return /^[\w-]+$/.test(sessionId) ? listCheckpointIds(join(dir, sessionId)) : []
}

/** Undefined if the file was removed meanwhile. */
async function readOne(
  dir: string,
  sessionId: string,
  id: string,
): Promise<SavedCheckpoint | BadCheckpoint | undefined> {
  if (!isCheckpointId(id)) return undefined
  try {
    await using handle = await open(join(dir, sessionId, `${id}.json`), 'r')
    const { size } = await handle.stat()
    if (size > MAX_BYTES) return { id, problem: `it is too large (${size} bytes)` }
    return parseCheckpoint(id, sessionId, await handle.readFile('utf8'))
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : { id, problem: `it cannot be read (${code ?? message})` }
  }
}

const Versioned = z.object({ version: z.number() })

function parseCheckpoint(id: string, sessionId: string, text: string): SavedCheckpoint | BadCheckpoint {
  const value = parseJson(text)
  if (value === undefined) return { id, problem: 'it is damaged (not whole JSON)' }
  const version = Versioned.safeParse(value).data?.version
  if (version !== undefined && version > CHECKPOINT_VERSION) {
    return { id, problem: `a newer pcc wrote it (version ${version}; this one knows ${CHECKPOINT_VERSION})` }
  }
  const { data, error } = Checkpoint.safeParse(value)
  if (!data) return { id, problem: `it is damaged (${error.issues[0]?.path.join('.') || 'not a checkpoint'})` }
  if (data.session_id !== sessionId) return { id, problem: `it belongs to another session (${data.session_id})` }
  return { id, checkpoint: data }
}

/** The checkpoint a person means: by its id, a unique beginning of it, or `latest`. Throws if there is none. */
export async function find(dir: string, sessionId: string, ref: string): Promise<SavedCheckpoint> {
  const { good, bad } = await read(dir, sessionId, ref === 'latest' ? undefined : ref)
  if (good) return good
  const problem = bad[0] ? ` ${bad[0].id}: ${bad[0].problem}.` : ''
  throw new AppError('checkpoint_unknown', { id: sessionId, checkpoint: ref, problem })
}
