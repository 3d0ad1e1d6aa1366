import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, writeSync } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import type { ConversationState } from '../../domain/session.ts'

export interface PastSession {
  vendor_id: string
  summary: string
  first_prompt: string | null
  /** Milliseconds since the epoch. */
  last_modified: number
  cwd: string | null
  branch: string | null
}

/**
 * Claude Code's own past conversations, newest first, of one project or of all. The vendor's library reads the settings
 * folder of *this* process, so the person's own command must call it and not the daemon.
 */
export async function pastSessions({
  dir,
  env,
}: {
  dir?: string
  env: Record<string, string | undefined>
}): Promise<PastSession[]> {
  if (folderOf(env) !== folderOf(process.env)) {
    throw new AppError('internal', {
      problem: 'past conversations can only be read for the environment of this process',
    })
  }
  const { listSessions } = await import('@anthropic-ai/claude-agent-sdk')
  const sessions = await listSessions(dir === undefined ? {} : { dir })
  return sessions
    .map(({ sessionId, summary, firstPrompt, lastModified, cwd, gitBranch }) => ({
      vendor_id: sessionId,
      summary,
      first_prompt: firstPrompt ?? null,
      last_modified: lastModified,
      cwd: cwd ?? null,
      branch: gitBranch ?? null,
    }))
    .toSorted((a, b) => b.last_modified - a.last_modified)
}

function folderOf(env: Record<string, string | undefined>): string {
  return env['CLAUDE_CONFIG_DIR'] || `${env['HOME'] || homedir()}/.claude`
}

export interface TranscriptLookup {
  /** The agent's environment, which says where its files are. */
  env: Record<string, string | undefined>
  cwd: string
  vendorId: string
}

const CHUNK_BYTES = 1024 * 1024
/** A line holds a whole message, and a message can hold a picture; a longer stretch without a line end is not a transcript. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const NEWLINE = 10

/**
 * Whether Claude Code can go on with a conversation: it keeps one file of JSON lines for each, in a folder named after the
 * directory where the conversation began. Resuming works from any directory, so all folders are searched. `intact` needs a
 * person's message at the beginning and a last complete line that can be parsed; a kill leaves half a line after it, which
 * Claude skips. A file that was removed while its agent lived is written anew from the middle on: Claude would go on with
 * that, without the task.
 */
export async function readTranscriptState({ env, cwd, vendorId }: TranscriptLookup): Promise<ConversationState> {
  if (!/^[\w-]+$/.test(vendorId)) return 'missing'
  const projects = join(folderOf(env), 'projects')
  const own = conversationsOf(cwd)
  const others = (await readdir(projects).catch(() => [])).filter(name => name !== own)
  let state: ConversationState = 'missing'
  for (const folder of [own, ...others]) {
    const fileState = await readFileState(join(projects, folder, `${vendorId}.jsonl`))
    if (fileState === 'intact') return fileState
    if (fileState === 'damaged') state = fileState
  }
  return state
}

/** The name of the folder for the conversations that begin in a directory. */
export function conversationsOf(cwd: string): string {
  return cwd.replace(/[^a-zA-Z0-9]/g, '-')
}

/**
 * Whether a path is the record of a conversation that began in this directory. Code of an agent can tell us any path, and what is in the
 * record becomes part of its session: conversations of other projects are hidden from it.
 */
export function isOwnTranscript(path: string, { env, cwd }: Pick<TranscriptLookup, 'env' | 'cwd'>): boolean {
  try {
    const own = realpathSync(join(folderOf(env), 'projects', conversationsOf(cwd)))
    return realpathSync(dirname(path)) === own && /^[\w-]+\.jsonl$/.test(basename(path))
  } catch {
    return false // there is no such folder
  }
}

/**
 * Claude Code goes on from the message that its newest `last-prompt` record names, and from what hangs on that message. A kill
 * leaves an old record. After a deferred call that record names a note beside the call, on which nothing hangs: Claude would
 * forget everything since the call was answered. The record is then written again, for the newest message, in the folder of
 * this directory only. Synchronous, because the process that reads the file is started right after this.
 */
export function noteLeaf({ env, cwd, vendorId }: TranscriptLookup): void {
  if (!/^[\w-]+$/.test(vendorId)) return
  try {
    using handle = openRegular(join(folderOf(env), 'projects', conversationsOf(cwd), `${vendorId}.jsonl`))
    const { text, end } = readSinceLeaf(handle.fd)
    const [record, ...lines] = text.split('\n')
    const leaf = LeafRecord.safeParse(parseJson(record ?? '')).data
    const messages = lines.flatMap(line => ChainEntry.safeParse(parseJson(line)).data ?? [])
    const [oldest, newest] = [messages[0], messages.at(-1)]
    if (!leaf || !oldest || !newest || oldest.parentUuid === leaf.leafUuid) return
    writeSync(handle.fd, `${end === NEWLINE ? '' : '\n'}${JSON.stringify({ ...leaf, leafUuid: newest.uuid })}\n`)
  } catch {
    // Claude then goes on as it does without us.
  }
}

const LeafRecord = z.looseObject({ type: z.literal('last-prompt'), leafUuid: z.string() })
const ChainEntry = z.object({ uuid: z.string(), parentUuid: z.string().nullable(), isSidechain: z.literal(false) })
const LEAF_MARK = '{"type":"last-prompt",'

/** A regular file only: an agent can write in this folder, and a link would lead elsewhere. */
function openRegular(file: string): Disposable & { fd: number } {
  const fd = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  return { fd, [Symbol.dispose]: () => closeSync(fd) }
}

/** The text from the newest leaf record on, and the last byte. */
function readSinceLeaf(fd: number): { text: string; end: number | undefined } {
  const { size } = fstatSync(fd)
  let tail = Buffer.alloc(0)
  for (let from = size; from > 0 && tail.length < MAX_LINE_BYTES; ) {
    const start = Math.max(0, from - CHUNK_BYTES)
    const chunk = Buffer.alloc(from - start)
    readSync(fd, chunk, 0, chunk.length, start)
    tail = Buffer.concat([chunk, tail])
    from = start
    const at = tail.lastIndexOf(LEAF_MARK)
    if (at >= 0) return { text: tail.subarray(at).toString('utf8'), end: tail.at(-1) }
  }
  return { text: '', end: undefined }
}

async function readFileState(file: string): Promise<ConversationState> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = await handle.stat()
    if (!stats.isFile()) return 'damaged'
    const last = await readLastLine(handle, stats.size)
    if (last === undefined || !isRecord(last)) return 'damaged'
    return (await beginsWithPrompt(handle, stats.size)) ? 'intact' : 'damaged'
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'damaged'
  }
}

/** The last complete line, read from the end backwards. */
async function readLastLine(handle: FileHandle, size: number): Promise<string | undefined> {
  let tail = Buffer.alloc(0)
  for (let from = size; from > 0 && tail.length < MAX_LINE_BYTES; ) {
    const start = Math.max(0, from - CHUNK_BYTES)
    tail = Buffer.concat([await readBytes(handle, start, from), tail])
    from = start
    const end = tail.lastIndexOf(NEWLINE)
    if (end < 0) continue
    const begin = end === 0 ? -1 : tail.lastIndexOf(NEWLINE, end - 1)
    if (begin >= 0 || from === 0) return tail.subarray(begin + 1, end).toString('utf8')
  }
  return undefined
}

async function beginsWithPrompt(handle: FileHandle, size: number): Promise<boolean> {
  let rest = Buffer.alloc(0)
  for (let from = 0; from < size && rest.length < MAX_LINE_BYTES; from += CHUNK_BYTES) {
    rest = Buffer.concat([rest, await readBytes(handle, from, Math.min(size, from + CHUNK_BYTES))])
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      const message = readMessage(rest.subarray(0, end).toString('utf8'))
      if (message) return isPrompt(message)
      rest = rest.subarray(end + 1)
    }
  }
  return false
}

async function readBytes(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.alloc(to - from)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
  return buffer.subarray(0, bytesRead)
}

const Line = z.object({
  type: z.literal(['user', 'assistant']),
  message: z.object({
    role: z.literal(['user', 'assistant']),
    content: z.union([z.string(), z.array(z.object({ type: z.string() }))]),
  }),
})
type Message = z.infer<typeof Line>['message']

function readMessage(line: string): Message | undefined {
  return line.includes('"message"') ? Line.safeParse(parseJson(line)).data?.message : undefined
}

/** In the vendor's files the result of a call is a user message too, but it answers an earlier message. */
function isPrompt({ role, content }: Message): boolean {
  return role === 'user' && (typeof content === 'string' || content.some(({ type }) => type !== 'tool_result'))
}

function isRecord(line: string): boolean {
  const value = parseJson(line)
  return typeof value === 'object' && value !== null
}
