import { constants } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
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
 * folder of *this* process, so it must be called by the person's own command and not by the daemon.
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
  const found = await listSessions(dir === undefined ? {} : { dir })
  return found
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
  /** The agent's environment: it says where its files are. */
  env: Record<string, string | undefined>
  cwd: string
  vendorId: string
}

const CHUNK_BYTES = 1024 * 1024
/** A line holds a whole message, and a message can hold a picture; what is longer was never written by a line. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const NEWLINE = 10

/**
 * Whether Claude Code can go on with a conversation: it keeps one file of JSON lines for each, in a folder named after the
 * directory it began in. Resuming works from any directory, so all folders are looked through. `intact` needs a person's
 * words at its beginning, and a last whole line that can be read; a half line after it is what a kill leaves, and Claude
 * passes over it. A file that was removed while its agent lived is written anew from the middle on: Claude would go on with
 * that, without the task.
 */
export async function readTranscriptState({ env, cwd, vendorId }: TranscriptLookup): Promise<ConversationState> {
  if (!/^[\w-]+$/.test(vendorId)) return 'missing'
  const projects = join(env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude'), 'projects')
  const own = cwd.replace(/[^a-zA-Z0-9]/g, '-')
  const others = (await readdir(projects).catch(() => [])).filter(name => name !== own)
  let state: ConversationState = 'missing'
  for (const folder of [own, ...others]) {
    const found = await stateOf(join(projects, folder, `${vendorId}.jsonl`))
    if (found === 'intact') return found
    if (found === 'damaged') state = found
  }
  return state
}

async function stateOf(file: string): Promise<ConversationState> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = await handle.stat()
    if (!found.isFile()) return 'damaged'
    const last = await lastLine(handle, found.size)
    if (last === undefined || !isRecord(last)) return 'damaged'
    return (await beginsWithWords(handle, found.size)) ? 'intact' : 'damaged'
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'damaged'
  }
}

/** The last line that ends, read from the end backwards. */
async function lastLine(handle: FileHandle, size: number): Promise<string | undefined> {
  let tail = Buffer.alloc(0)
  for (let from = size; from > 0 && tail.length < MAX_LINE_BYTES; ) {
    const start = Math.max(0, from - CHUNK_BYTES)
    tail = Buffer.concat([await bytes(handle, start, from), tail])
    from = start
    const end = tail.lastIndexOf(NEWLINE)
    if (end < 0) continue
    const begin = end === 0 ? -1 : tail.lastIndexOf(NEWLINE, end - 1)
    if (begin >= 0 || from === 0) return tail.subarray(begin + 1, end).toString('utf8')
  }
  return undefined
}

async function beginsWithWords(handle: FileHandle, size: number): Promise<boolean> {
  let rest = Buffer.alloc(0)
  for (let from = 0; from < size && rest.length < MAX_LINE_BYTES; from += CHUNK_BYTES) {
    rest = Buffer.concat([rest, await bytes(handle, from, Math.min(size, from + CHUNK_BYTES))])
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      const message = messageIn(rest.subarray(0, end).toString('utf8'))
      if (message) return isInWords(message)
      rest = rest.subarray(end + 1)
    }
  }
  return false
}

async function bytes(handle: FileHandle, from: number, to: number): Promise<Buffer> {
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

function messageIn(line: string): Message | undefined {
  return line.includes('"message"') ? Line.safeParse(parsed(line)).data?.message : undefined
}

/** The result of a call is the user's in the vendor's files, but it is an answer to something said before. */
function isInWords({ role, content }: Message): boolean {
  return role === 'user' && (typeof content === 'string' || content.some(({ type }) => type !== 'tool_result'))
}

function isRecord(line: string): boolean {
  const value = parsed(line)
  return typeof value === 'object' && value !== null
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined // half a line, or damaged
  }
}
